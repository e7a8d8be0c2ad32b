#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace volvox {

// One thread for what takes long and must happen in order. Any thread may post.
class JobThread {
 public:
  using Job = std::function<void()>;

  JobThread() : thread_([this] { run(); }) {}
  ~JobThread() { stop(); }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // False, and the job is dropped, once the thread was told to stop. A job must not throw.
  bool post(Job job);
  // Lets the running job end and drops the others. Not from a job.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace volvox
