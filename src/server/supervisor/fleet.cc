#include "server/supervisor/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace tonnage {

// Supervisors wake each other, so none may be gone while another runs.
Fleet::~Fleet() {
  for (const Member& member : members_) member.supervisor->Stop();
}

Supervisor& Fleet::Add(std::string name, RemoteEngine& engine, Launcher launch, Price price) {
  const std::size_t index = members_.size();
  SupervisorOptions options = options_.supervisor;
  options.name = std::move(name);
  options.launch = std::move(launch);
  options.admit = [this, index] { return Admit(index); };
  options.changed = [this] { WakeAll(); };
  members_.push_back({.price = std::move(price),
                      .supervisor = std::make_unique<Supervisor>(std::move(options), engine)});
  return *members_.back().supervisor;
}

void Fleet::Run() {
  for (const Member& member : members_) member.supervisor->Run();
}

void Fleet::RefuseWaiting(const Error& error) {
  for (const Member& member : members_) member.supervisor->RefuseWaiting(error);
}

void Fleet::WakeAll() {
  for (const Member& member : members_) member.supervisor->Wake();
}

Result<std::optional<Available>> Fleet::Admit(std::size_t index) {
  struct Other {
    Supervisor* supervisor;
    SupervisorStatus status;
    Bytes bytes;
  };
  std::lock_guard lock(mutex_);
  std::vector<Other> idle;
  std::vector<std::int64_t> process_ids;
  std::string working;
  Bytes held = 0, ending = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const SupervisorStatus status = member.supervisor->status();
    if (i == index || status.process_id == 0) continue;
    // The runner's own quote, once it has said it, is the exact one.
    const Bytes bytes = status.held_bytes > 0 ? status.held_bytes : member.admitted_bytes;
    process_ids.push_back(status.process_id);
    held += bytes;
    if (status.state == RunnerState::kEnding) {
      ending += bytes;
    } else if (status.state == RunnerState::kReady && !status.working) {
      idle.push_back({member.supervisor.get(), status, bytes});
    } else {
      working += (working.empty() ? "" : ", ") + member.supervisor->name();
    }
  }
  ASSIGN_OR_RETURN(const Available budget, options_.budget(process_ids));
  ASSIGN_OR_RETURN(const Bytes price, members_[index].price(budget));
  if (held + price <= budget.bytes) {
    members_[index].admitted_bytes = price;
    const std::string less =
        held == 0 ? "" : fmt::format(" less {} of other models", FormatBytes(held));
    return std::optional(Available{budget.bytes - held, budget.source + less});
  }
  Bytes kept = held - ending;
  std::ranges::sort(idle, {}, [](const Other& other) { return other.status.used_at; });
  std::size_t unloaded = 0;
  while (kept + price > budget.bytes && unloaded < idle.size()) kept -= idle[unloaded++].bytes;
  if (kept + price > budget.bytes) {
    return Unavailable(
        "`{}` takes {}, and {} of the {} allowed by {} are held by models that are working: {}",
        members_[index].supervisor->name(), FormatBytes(price), FormatBytes(kept),
        FormatBytes(budget.bytes), budget.source, working);
  }
  for (std::size_t i = 0; i < unloaded; ++i) idle[i].supervisor->Unload();
  return std::optional<Available>();
}

}  // namespace tonnage
