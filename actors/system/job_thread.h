#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace volvox {

// One thread for what takes long and must happen in order. Any thread may post.
class JobThread {
 public:
  using Job = std::function<void()>;

  // Its name as the system shows it, cut after 15 characters.
  explicit JobThread(const std::string& name);
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
