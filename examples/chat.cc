// A chat in the terminal: chat MODEL
#include <tonnage/tonnage.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: chat MODEL\n", 2;
  auto model = tonnage::LanguageModel::Load(argv[1]);
  if (!model) return std::cerr << model.failure().message << "\n", 1;

  std::vector<tonnage::ChatMessage> messages;
  for (std::string line; std::cout << "> " << std::flush, std::getline(std::cin, line);) {
    messages.push_back({"user", line});
    const auto answer = model->Chat(messages, {.max_tokens = 200}, [](std::string_view text) {
      return static_cast<bool>(std::cout << text << std::flush);
    });
    if (!answer) return std::cerr << answer.failure().message << "\n", 1;
    std::cout << "\n[" << answer->generated_tokens << " tokens]\n";
    messages.push_back({"assistant", answer->text});
  }
}
