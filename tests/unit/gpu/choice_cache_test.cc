#include "gpu/driver/choice_cache.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace volvox::gpu {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ChoiceCacheTest : public ::testing::Test {
 protected:
  ChoiceCacheTest() { fs::create_directories(folder_); }
  ~ChoiceCacheTest() override { fs::remove_all(folder_); }
  std::shared_ptr<ChoiceCache> open() { return ChoiceCache::open(cache_).value(); }
  std::string file() const { return cache_ + "/gpu-choices"; }

  const std::string folder_ = (fs::temp_directory_path() / ("choices" + std::to_string(::getpid()))).string();
  const std::string cache_ = folder_ + "/a/cache";
};

TEST_F(ChoiceCacheTest, RemembersWhatTheFirstOneChose) {
  const auto first = open(), second = open();
  EXPECT_FALSE(first->find("product 1"));
  EXPECT_EQ(first->keep("product 1", "algorithm 7"), "algorithm 7");
  EXPECT_EQ(second->keep("product 1", "algorithm 9"), "algorithm 7")
      << "of another process that started as early";
  EXPECT_EQ(second->keep("product 2", "algorithm 9"), "algorithm 9");
  EXPECT_EQ(first->keep("product 3", "x"), "x");
  const auto third = open();
  EXPECT_EQ(third->find("product 1"), "algorithm 7");
  EXPECT_EQ(third->find("product 2"), "algorithm 9") << "nobody's choice is lost";
  EXPECT_EQ(third->find("product 3"), "x");
  EXPECT_FALSE(fs::exists(file() + ".new"));
}

TEST_F(ChoiceCacheTest, IsForItsOwnerAlone) {
  open()->keep("a", "b");
  struct stat info {};
  ASSERT_EQ(::stat(cache_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  EXPECT_THAT(ChoiceCache::open(cache_).error().message, HasSubstr("others may write"));
  ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  ASSERT_EQ(::chmod(cache_.c_str(), 0777), 0);
  EXPECT_EQ(ChoiceCache::open(cache_).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ChoiceCacheTest, FollowsNoLink) {
  open();
  std::ofstream(folder_ + "/elsewhere") << "volvox gpu choices 1\na\tb\n";
  fs::create_symlink(folder_ + "/elsewhere", file());
  EXPECT_FALSE(ChoiceCache::open(cache_));
}

TEST_F(ChoiceCacheTest, TakesWhatItCannotReadForEmpty) {
  open();
  std::ofstream(file()) << std::string(1000, '\xff') << "\na\tb\n";
  const auto cache = open();
  EXPECT_FALSE(cache->find("a"));
  EXPECT_EQ(cache->keep("a", "c"), "c");
  EXPECT_EQ(open()->find("a"), "c");
}

TEST_F(ChoiceCacheTest, KeepsCodeOfAnyBytes) {
  const std::string code(
      "\x7f"
      "ELF\0\n\t\xff",
      8);
  open()->keep_code("source 1\nof two lines", code);
  const auto cache = open();
  EXPECT_EQ(cache->find_code("source 1\nof two lines"), code);
  EXPECT_FALSE(cache->find_code("source 1"));
  cache->keep_code("source 1", "other");
  EXPECT_EQ(cache->find_code("source 1"), "other");
  EXPECT_EQ(cache->find_code("source 1\nof two lines"), code);
}

TEST_F(ChoiceCacheTest, RunsNoCodeThatIsNotItsOwn) {
  const auto cache = open();
  cache->keep_code("source", "code");
  const std::string path = fs::directory_iterator(cache_)->path();
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(cache->find_code("source")) << "others may write it";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(cache->find_code("source"), "code");
  std::ofstream(path) << "volvox gpu code 1\n5\nother\ncode";
  EXPECT_FALSE(cache->find_code("source")) << "of another source, whatever its name";
  cache->keep_code("source", "code");
  const auto size = fs::file_size(path);
  fs::resize_file(path, size - 1);
  EXPECT_FALSE(cache->find_code("source")) << "a part of it";
  cache->keep_code("source", "code");
  std::fstream(path).seekp(static_cast<std::streamoff>(size) - 1).put('E');
  EXPECT_FALSE(cache->find_code("source")) << "a byte is another one";
  fs::resize_file(path, 3);
  EXPECT_FALSE(cache->find_code("source"));
  cache->keep_code("source", "code");
  EXPECT_EQ(cache->find_code("source"), "code") << "what cannot be used is replaced";
}

TEST_F(ChoiceCacheTest, DropsTheOldestCodeAndKeepsNoneThatIsLarge) {
  const auto cache = open();
  cache->keep_code("large", std::string(std::size_t{5} << 20, 'x'));
  EXPECT_FALSE(cache->find_code("large"));
  EXPECT_TRUE(fs::is_empty(cache_));
  cache->keep("product", "algorithm");
  for (std::size_t i = 0; i < ChoiceCache::kMostCodes + 3; ++i) {
    if (i == ChoiceCache::kMostCodes) {
      EXPECT_TRUE(cache->find_code("source 0")) << "is used once more";
    }
    cache->keep_code("source " + std::to_string(i), "code");
    // As if they had come a second after each other.
    for (const auto& entry : fs::directory_iterator(cache_))
      fs::last_write_time(entry, fs::last_write_time(entry) - std::chrono::seconds(1));
  }
  EXPECT_TRUE(cache->find_code("source 0"));
  EXPECT_FALSE(cache->find_code("source 1"));
  EXPECT_FALSE(cache->find_code("source 3"));
  EXPECT_TRUE(cache->find_code("source 4"));
  EXPECT_EQ(open()->find("product"), "algorithm") << "choices stay";
}

TEST_F(ChoiceCacheTest, HoldsForThisProcessWhereNothingCanBeWritten) {
  const auto cache = open();
  fs::remove_all(cache_);
  EXPECT_EQ(cache->keep("a", "b"), "b");
  EXPECT_EQ(cache->find("a"), "b");
}

}  // namespace
}  // namespace volvox::gpu
