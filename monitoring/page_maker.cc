#include "monitoring/page_maker.h"

#include <exception>
#include <utility>

namespace volvox {
namespace {

constexpr int kThreads = 2;

HttpAnswer make(const std::function<HttpAnswer()>& page) {
  try {
    return page();
  } catch (const std::exception& error) {
    return {500, std::string(error.what()) + "\n"};
  }
}

}  // namespace

PageMaker::PageMaker(Done done) : done_(std::move(done)) {
  try {
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run(); });
  } catch (...) {
    end();
    throw;
  }
}

PageMaker::~PageMaker() {
  end();
}

void PageMaker::end() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PageMaker::ask(Id id, const std::string& name, const std::function<HttpAnswer()>& page) {
  {
    const std::lock_guard lock(mutex_);
    Wanted& wanted = wanted_[name];
    wanted.page = page;
    wanted.who.push_back(id);
  }
  changed_.notify_one();
}

PageMaker::Wanted* PageMaker::next() {
  for (auto& [name, wanted] : wanted_) {
    if (!wanted.in_work && !wanted.who.empty()) return &wanted;
  }
  return nullptr;
}

void PageMaker::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Wanted* wanted = nullptr;
    changed_.wait(lock, [&] { return stopping_ || (wanted = next()) != nullptr; });
    if (stopping_) return;
    wanted->in_work = true;
    const std::vector<Id> who = std::exchange(wanted->who, {});
    const auto page = wanted->page;
    lock.unlock();
    try {
      done_(who, make(page));
    } catch (const std::exception&) {
      // Those who asked wait until their door loses patience; who asks next may be luckier.
    }
    lock.lock();
    wanted->in_work = false;
    changed_.notify_all();
  }
}

}  // namespace volvox
