// SPDX-License-Identifier: Apache-2.0
#include "io/file/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "io/file/sha256.hpp"

namespace stretto::file {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (std::filesystem::temp_directory_path() / "stretto-file-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& leaf) const { return folder_ + "/" + leaf; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::string folder_;
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "no error";
}

std::string gzip(std::string data) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, data.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(data.data());
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Sha256, VectorsOfTheStandard) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_F(Files, WritesReadsAndLeavesNoTemporaryFile) {
  const std::string text("one\ntwo\0three", 13);
  write_atomic(path("a.txt"), text);
  EXPECT_EQ(read(path("a.txt")), text);
  write_atomic(path("a.txt"), "");
  EXPECT_EQ(read(path("a.txt")), "");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, ReplacingKeepsTheMode) {
  write_atomic(path("a.txt"), "old");
  ASSERT_EQ(::chmod(path("a.txt").c_str(), 0640), 0);
  write_atomic(path("a.txt"), "new");
  struct stat info {};
  ASSERT_EQ(::stat(path("a.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
  EXPECT_EQ(read(path("a.txt")), "new");
}

TEST_F(Files, FailuresNameTheFileAndTheReason) {
  EXPECT_TRUE(contains(message_of([&] { read(path("none")); }), "none: error: no such file"));
  EXPECT_TRUE(contains(message_of([&] { read(folder_); }), "is a folder"));
  EXPECT_TRUE(contains(message_of([&] { write_atomic(folder_, "x"); }), "is a folder"));
  EXPECT_TRUE(contains(message_of([&] { write_atomic(path("none/a"), "x"); }), "No such file or directory"));
  write_atomic(path("big"), std::string(101, 'x'));
  EXPECT_TRUE(contains(message_of([&] { read_raw(path("big"), 100); }), "limit of 100 bytes"));
  EXPECT_EQ(read_raw(path("big"), 101).size(), 101U);
}

TEST_F(Files, WritesThroughALinkAndKeepsIt) {
  const std::string folder = ::testing::TempDir() + "stretto_links";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink("target.txt", folder + "/link.txt");
  write_atomic(folder + "/target.txt", "old");
  write_atomic(folder + "/link.txt", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link.txt"));
  EXPECT_EQ(read(folder + "/target.txt"), "new");
  std::filesystem::remove_all(folder);
}

TEST_F(Files, ReadsAFileWithoutASize) { EXPECT_NE(read("/proc/self/status"), ""); }

TEST_F(Files, RefusesDevices) {
  EXPECT_NE(message_of([] { read("/dev/zero"); }).find("is a device"), std::string::npos);
}

TEST(Gzip, UnpacksOneMemberAndSeveral) {
  EXPECT_EQ(unpack("plain", "f"), "plain");
  EXPECT_EQ(unpack(gzip("hello"), "f"), "hello");
  EXPECT_EQ(unpack(gzip("hello ") + gzip("world"), "f"), "hello world");
  EXPECT_EQ(unpack(gzip("padded") + std::string(512, '\0'), "f"), "padded");
}

TEST(Gzip, EveryCutIsAnError) {
  const std::string packed = gzip("some text that is packed");
  for (std::size_t n = 2; n < packed.size(); ++n)
    EXPECT_TRUE(contains(message_of([&] { unpack(packed.substr(0, n), "f"); }), "cut off")) << n;
}

TEST(Gzip, DamageAndRubbishAreErrors) {
  std::string packed = gzip("some text that is packed");
  EXPECT_TRUE(contains(message_of([&] { unpack(packed + "rubbish", "f"); }), "7 bytes of something else"));
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // in the check sum
  EXPECT_TRUE(contains(message_of([&] { unpack(packed, "f"); }), "damaged"));
}

TEST(Gzip, BombsAreRefusedByRatioAndBySize) {
  const std::string packed = gzip(std::string(std::size_t{1} << 20, 'a'));
  Limits limits;
  EXPECT_EQ(unpack(packed, "f", limits).size(), std::size_t{1} << 20);
  limits.free_bytes = 1000;
  EXPECT_TRUE(contains(message_of([&] { unpack(packed, "f", limits); }), "bomb"));
  limits = {};
  limits.max_bytes = (std::size_t{1} << 20) - 1;
  EXPECT_TRUE(contains(message_of([&] { unpack(packed, "f", limits); }), "limit of 1048575 bytes"));
}

TEST(SpanAt, CountsLinesAndColumns) {
  const std::string text = "first\n\tsecond\r\nlast";
  const Span span = span_at(text, "f", 7, 6);
  EXPECT_EQ(span.line, 2);
  EXPECT_EQ(span.column, 2);
  EXPECT_EQ(span.length, 6);
  EXPECT_EQ(span.text, "\tsecond");
  EXPECT_EQ(span_at(text, "f", 0).line, 1);
  EXPECT_EQ(span_at(text, "f", text.size()).line, 3);
  EXPECT_EQ(span_at(text, "f", text.size() + 9).column, 5);
  EXPECT_EQ(span_at("\n", "f", 0).text, "");
}

}  // namespace
}  // namespace stretto::file
