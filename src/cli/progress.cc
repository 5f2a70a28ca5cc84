#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tonnage::cli {
namespace {

constexpr double kSampleSeconds = 0.5;
constexpr double kSmoothingSeconds = 4;
constexpr auto kRedraw = std::chrono::milliseconds(100);

}  // namespace

void RateMeter::Add(double seconds, Bytes done) {
  if (!last_) {
    last_ = {seconds, done};
    return;
  }
  const double passed = seconds - last_->seconds;
  if (passed < kSampleSeconds) return;
  const double rate = static_cast<double>(done - last_->done) / passed;
  const double weight = rate_ ? 1 - std::exp(-passed / kSmoothingSeconds) : 1;
  rate_ = rate_.value_or(0) + weight * (rate - rate_.value_or(0));
  last_ = {seconds, done};
}

std::string FormatDuration(double seconds) {
  constexpr double kLongest = 99 * 3600;
  const int whole = static_cast<int>(std::ceil(std::clamp(seconds, 0.0, kLongest)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string ProgressText(std::string_view label, Bytes done, Bytes total,
                         std::optional<double> bytes_per_second) {
  constexpr int kWidth = 24;
  const int percent =
      total > 0 ? static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total))
                : 100;
  const std::string bar(static_cast<size_t>(percent * kWidth / 100), '=');
  std::string text = fmt::format("{} [{:<{}}] {:3}%  {} of {}", label, bar, kWidth, percent,
                                 FormatBytes(done), FormatBytes(total));
  if (bytes_per_second && *bytes_per_second >= 1) {
    text += fmt::format("  {}/s  {} left", FormatBytes(static_cast<Bytes>(*bytes_per_second)),
                        FormatDuration(static_cast<double>(total - done) / *bytes_per_second));
  }
  return text;
}

ProgressLine::ProgressLine(std::string label, bool shown)
    : label_(std::move(label)), shown_(shown) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::Show(Bytes done, Bytes total) {
  if (!shown_) return;
  const auto now = Clock::now();
  rate_.Add(std::chrono::duration<double>(now.time_since_epoch()).count(), done);
  if (drawn_ && now - *drawn_ < kRedraw && done < total) return;
  drawn_ = now;
  std::fprintf(stderr, "\r%s\033[K",
               ProgressText(label_, done, total, rate_.bytes_per_second()).c_str());
  std::fflush(stderr);
}

}  // namespace tonnage::cli
