#include "actors/system/job_thread.h"

#include <utility>

#include <pthread.h>

namespace volvox {

JobThread::JobThread(const std::string& name) : thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

bool JobThread::post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void JobThread::stop() {
  std::deque<Job> dropped;  // goes without the lock: what a job holds may post as it goes
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void JobThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    {
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }  // what it holds goes before the lock is taken
    lock.lock();
  }
}

}  // namespace volvox
