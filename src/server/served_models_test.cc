#include "server/served_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "engine/engine.h"
#include "engine/testing.h"

namespace tonnage {
namespace {

using testing::HasSubstr;

class ServedModelsTest : public testing::Test {
 protected:
  ServedModelsTest() : engine_(ToyModel({.vocab = 256}, backend_)) {
    auto text = OpenModelText(TONNAGE_SOURCE_DIR "/tests/golden/tiny_chat");
    EXPECT_TRUE(text.ok()) << text.error().message();
    text_engine_ = TextEngine::Make(engine_, std::move(*text)).value();
    models_.emplace(std::vector<ServedModel>{
        {.names = {"a", "a2"},
         .created_s = 7,
         .engine = text_engine_,
         .dispatcher = &dispatcher_,
         .load =
             [this](auto done) {
               if (load_error_) return done(*load_error_);
               done(std::shared_ptr<const void>(use_));
             }},
        {.names = {"b"}, .engine = text_engine_, .dispatcher = &dispatcher_}});
  }
  Result<ModelUse> Load(std::string_view name) {
    Result<ModelUse> loaded = Unavailable("not called back");
    models_->Load(name, [&](Result<ModelUse> use) { loaded = std::move(use); });
    return loaded;
  }

  ToyBackend backend_;
  Engine engine_;
  std::shared_ptr<const TextEngine> text_engine_;
  Dispatcher dispatcher_;
  std::shared_ptr<int> use_ = std::make_shared<int>();
  std::optional<Error> load_error_;
  std::optional<ServedModels> models_;
};

TEST_F(ServedModelsTest, EveryNameIsListedAndFound) {
  const auto cards = models_->List();
  ASSERT_EQ(cards.size(), 3u);
  EXPECT_EQ(cards[1].name, "a2");
  EXPECT_EQ(cards[1].created_s, 7);
  EXPECT_EQ(cards[2].name, "b");
  EXPECT_EQ(cards[2].context_tokens, 300);
  EXPECT_EQ(models_->Find("b").value(), text_engine_);
  const auto missing = models_->Find("c");
  EXPECT_EQ(missing.error().code(), Code::kUnreadable);
  EXPECT_EQ(missing.error().field(), "model");
  EXPECT_THAT(missing.error().message(), HasSubstr("`a`, `a2`, `b`"));
  EXPECT_EQ(Load("c").error().field(), "model");
}

TEST_F(ServedModelsTest, TheEngineThatIsHeldIsTheUse) {
  {
    const auto loaded = Load("a2");
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(loaded->engine.get(), text_engine_.get());
    EXPECT_EQ(loaded->dispatcher, &dispatcher_);
    EXPECT_EQ(use_.use_count(), 2);
  }
  EXPECT_EQ(use_.use_count(), 1);
  load_error_ = Busy("many wait");
  EXPECT_EQ(Load("a").error().code(), Code::kBusy);
}

}  // namespace
}  // namespace tonnage
