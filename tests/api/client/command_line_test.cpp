// The command line of the program `trainyard`: where options may stand, what several ids do, and
// what is wrong usage.
#include <catch2/catch.hpp>
#include <string>

#include "tests/api/client/peer.h"
#include "tests/api/client/program.h"
#include "tests/support/temp_folder.h"

namespace trainyard::client {
namespace {

std::string job(const std::string& id, const std::string& state) {
  return R"({"id":")" + id + R"(","version":1,"spec":{"name":"n"},"status":{"state":")" + state +
         R"("}})";
}
std::string answer(const std::string& body) { return http_answer("200 OK", body); }

std::string first_line(const std::string& request) { return request.substr(0, request.find('\r')); }

}  // namespace

TEST_CASE("what is common to all commands may be written anywhere", "[client][mend-B10]") {
  for (const std::string arguments : {"--server URL get --json j1", "get --server URL --json j1",
                                      "get j1 --json --server URL", "get --json j1 --server=URL"}) {
    Peer peer({answer(job("j1", "queued"))});
    std::string words = arguments;
    words.replace(words.find("URL"), 3, peer.url());
    INFO(words);
    CHECK(run(words).exit_code == 0);
    CHECK(peer.requests().size() == 1);
  }
  const TempFolder folder;
  folder.write("c.json", R"({"server": "http://in-file.invalid"})");
  CHECK_THAT(run("list --config " + folder.path("c.json")).errors,
             Catch::Contains("in-file.invalid"));
  for (const std::string words : {"--version", "list --version", "get j1 --version"}) {
    const Run told = run(words);
    CHECK(told.exit_code == 0);
    CHECK_THAT(told.output, Catch::Matches("trainyard \\d+\\.\\d+\\.\\d+\n"));
  }
  CHECK_THAT(run("get j1 --help").output, Catch::Contains("Show jobs"));
}

TEST_CASE("a command that there is not is wrong usage, whatever stands beside it",
          "[client][mend-B10]") {
  for (const std::string words :
       {"frob", "frob j1", "--server http://127.0.0.1:1 frob", "frob --help", "frob --json",
        "frob --server http://127.0.0.1:1"}) {
    const Run done = run(words);
    INFO(words);
    CHECK(done.exit_code == 2);
    CHECK(done.output.empty());
    CHECK_THAT(done.errors, Catch::Contains("there is no command \"frob\""));
  }
  CHECK(run("agents frob").exit_code == 2);
  CHECK(run("list frob").exit_code == 2);
  CHECK(run("list --frob").exit_code == 2);
  CHECK(run("get").exit_code == 2);
  CHECK(run("cancel").exit_code == 2);
  CHECK(run("cancel j1 --label a=b").exit_code == 2);
}

TEST_CASE("wrong usage is said by the program's name, whoever found it", "[client]") {
  for (const std::string words : {"list --limit x", "get", "list --frob", "cancel", "fly", "--fly",
                                  "download j1 --output -", "submit --idempotency-key '' f"}) {
    const Run done = run(words);
    INFO(words);
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.errors, Catch::StartsWith("trainyard: "));
  }
}

TEST_CASE("of a word that is no command the one that was meant is named", "[client]") {
  const std::vector<std::pair<std::string, std::string>> meant{
      {"lst", "list"},   {"agent", "agents"}, {"sumbit", "submit"},     {"ls", "list"},
      {"status", "get"}, {"rm", "delete"},    {"help cancle", "cancel"}};
  for (const auto& [word, command] : meant) {
    const Run done = run(word);
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.errors, Catch::EndsWith("; did you mean \"" + command + "\"?\n"));
  }
  CHECK_THAT(run("frob").errors, Catch::EndsWith("\"frob\": --help lists them\n"));
}

TEST_CASE("help is printed, of the program or of a command", "[client]") {
  const Run all = run("help");
  CHECK(all.exit_code == 0);
  CHECK(all.output == run("--help").output);
  const Run one = run("help list");
  CHECK(one.exit_code == 0);
  CHECK(one.output == run("list --help").output);
  CHECK_THAT(one.output, Catch::Contains("--server URL and --config FILE"));
  CHECK_THAT(run("agents delete --help").output, Catch::Contains("--server URL"));
  const Run local = run("local --help");
  CHECK_THAT(local.output, Catch::Contains("--config FILE") && !Catch::Contains("--server URL"));
}

TEST_CASE("a state that there is not is refused with those that there are", "[client]") {
  const Run refused = run("list --state bad --server http://127.0.0.1:1");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, Catch::Contains("--state") && Catch::Contains("bad") &&
                                 Catch::Contains("queued,starting,running,stopping,succeeded,"
                                                 "failed,cancelled,suspended"));
  CHECK(run("list --state suspended --server http://127.0.0.1:1").exit_code == 1);
}

TEST_CASE("several ids are done one after another, a refused one does not keep the others back",
          "[client][mend-B10]") {
  Peer peer({answer(job("j1", "stopping")),
             http_answer("404 Not Found", R"({"detail":"there is no such job"})"),
             answer(job("j3", "cancelled"))});

  const Run done = run("cancel j1 j2 j3 --server " + peer.url());

  CHECK(done.exit_code == 1);
  CHECK(done.output == "j1 stopping\nj3 cancelled\n");
  CHECK(done.errors == "trainyard: j2: there is no such job\n");
}

TEST_CASE("a server that is away is named once, however many jobs were meant",
          "[client][mend-B10]") {
  const Run done = run("cancel j1 j2 j3 --server http://127.0.0.1:1");
  CHECK(done.exit_code == 1);
  CHECK(done.errors ==
        "trainyard: no server answers at http://127.0.0.1:1 (start one with `trainyard local`, or "
        "name it with --server)\n  not done: j1 j2 j3\n");
}

TEST_CASE("a label stands for all jobs that have it and that the action concerns",
          "[client][mend-B10]") {
  Peer peer({answer(R"({"items":[)" + job("j3", "queued") + "," + job("j2", "failed") + "," +
                    job("j1", "suspended") + R"(],"next_page_token":null})"),
             answer(job("j3", "cancelled")), answer(job("j1", "cancelled"))});

  const Run done = run("cancel --label team:vision --server " + peer.url());

  CHECK(done.exit_code == 0);
  CHECK(done.output == "j3 cancelled\nj1 cancelled\n");
  REQUIRE(peer.requests().size() == 3);
  CHECK(first_line(peer.requests()[0]) == "GET /v1/jobs?limit=100&label=team%3Avision HTTP/1.1");
  CHECK(first_line(peer.requests()[1]) == "POST /v1/jobs/j3/cancel HTTP/1.1");
  CHECK(first_line(peer.requests()[2]) == "POST /v1/jobs/j1/cancel HTTP/1.1");

  Peer empty({answer(R"({"items":[]})")});
  const Run none = run("cancel --label team:vision --server " + empty.url());
  CHECK(none.exit_code == 0);
  CHECK(none.errors == "There is no job with this label to cancel\n");
}

TEST_CASE("delete removes jobs, cordon and uncordon speak to agents", "[client][mend-B10]") {
  Peer jobs({http_answer("204 No Content", ""), http_answer("204 No Content", "")});
  const Run deleted = run("delete j1 j2 --server " + jobs.url());
  CHECK(deleted.exit_code == 0);
  CHECK(deleted.output == "j1 deleted\nj2 deleted\n");
  CHECK(first_line(jobs.requests().at(0)) == "DELETE /v1/jobs/j1 HTTP/1.1");

  Peer agents({answer(R"({"id":"box/1"})"), answer(R"({"id":"b"})"), answer(R"({"id":"b"})"),
               http_answer("204 No Content", ""), answer(R"({"id":"a","tasks":[]})"),
               answer(R"({"id":"b","tasks":[{"job":"j","task":"ps/0"}]})")});
  const std::string server = " --server " + agents.url();
  CHECK(run("cordon box/1 b" + server).output == "box/1 cordoned\nb cordoned\n");
  CHECK(run("uncordon b" + server).output == "b uncordoned\n");
  CHECK(run("agents delete b" + server).output == "b deleted\n");
  CHECK(run("drain a b" + server).output ==
        "a drained\nb is draining: its jobs save, and go on where there is room\n");
  CHECK(first_line(agents.requests().at(0)) == "POST /v1/agents/box%2F1/cordon HTTP/1.1");
  CHECK(first_line(agents.requests().at(2)) == "POST /v1/agents/b/uncordon HTTP/1.1");
  CHECK(first_line(agents.requests().at(5)) == "POST /v1/agents/b/drain HTTP/1.1");
  CHECK(first_line(agents.requests().at(3)) == "DELETE /v1/agents/b HTTP/1.1");
}

TEST_CASE("agents are listed over as many pages as it takes", "[client][mend-B10]") {
  Peer peer({answer(R"({"items":[{"id":"a","state":"ready"}],"next_page_token":"a/1"})"),
             answer(R"({"items":[{"id":"b","state":"down"}],"next_page_token":null})")});

  const Run done = run("agents --server " + peer.url());

  CHECK_THAT(done.output, Catch::Contains("\na ") && Catch::Contains("\nb "));
  CHECK(first_line(peer.requests().at(1)) == "GET /v1/agents?page_token=a%2F1 HTTP/1.1");
}

TEST_CASE("GPUs that tell of themselves are listed with who uses them", "[client][gpu]") {
  Peer peer({answer(
      R"({"items":[{"id":"box","state":"ready","tasks":[{"job":"j","task":"worker/0","gpus":[0]}],
          "gpus":[{"index":0,"name":"NVIDIA T4","memory_mb":15360,"uuid":"GPU-a",
                   "temperature_celsius":41,"power_watts":30.5,"utilization":0.7,
                   "memory_used_mb":1024,"strangers":[],
                   "product_tflops":{"bfloat16":2.04,"float32":1.26,"tf32":-1}},
                  {"index":1,"name":"NVIDIA H100","memory_mb":81559,"uuid":"GPU-b",
                   "temperature_celsius":null,"power_watts":null,"utilization":null,
                   "memory_used_mb":null,"strangers":[{"pid":4711,"memory_mb":2048}]},
                  {"index":2,"name":"declared","memory_mb":0,"uuid":null}]}],
          "next_page_token":null})")});

  const Run done = run("agents --server " + peer.url());

  CHECK_THAT(done.output, Catch::Contains("NVIDIA T4") && Catch::Contains("1,024/15,360") &&
                              Catch::Contains("70 %  ") && Catch::Contains("41 C") &&
                              Catch::Contains("31 W  worker/0 of j\n"));
  CHECK_THAT(done.output,
             Catch::Contains("?/81,559") && Catch::Contains("process 4711 (not ours)"));
  CHECK(done.output.find("declared") == std::string::npos);
  CHECK_THAT(done.output, Catch::EndsWith("box: products on NVIDIA T4 make 1.3 TFLOP/s in float32, "
                                          "2.0 in bfloat16\n"));
}

TEST_CASE("metrics are a row each, or all points", "[client][mend-B10]") {
  const std::string series =
      R"({"series":[{"name":"loss","points":[{"step":10,"value":2.5},{"step":20,"value":0.5},)"
      R"({"step":1030,"value":0.75}]},{"name":"odd","points":[{"step":10,"value":null}]}]})";
  Peer peer({answer(series), http_answer("200 OK", "name,step,time,value\nloss,10,,2.5\n"),
             answer(series), answer(R"({"series":[]})")});
  const std::string server = " --server " + peer.url();

  CHECK(run("metrics j1 --names loss,odd" + server).output ==
        "METRIC   STEP    LAST  LOWEST  HIGHEST\n"
        "loss    1,030  0.7500  0.5000   2.5000\n"
        "odd        10       -       -        -\n");
  CHECK(run("metrics j1 --csv --from-step 5" + server).output ==
        "name,step,time,value\nloss,10,,2.5\n");
  CHECK_THAT(run("metrics j1 --json" + server).output, Catch::Contains("\"step\": 1030"));
  CHECK_THAT(run("metrics j1 --names lost" + server).errors,
             Catch::Contains("Job j1 has no lost of these steps yet"));
  CHECK(first_line(peer.requests().at(0)) ==
        "GET /v1/jobs/j1/metrics?max_points=1000&names=loss%2Codd HTTP/1.1");
  CHECK_THAT(peer.requests().at(1), Catch::Contains("Accept: text/csv\r\n") &&
                                        Catch::Contains("max_points=1000&from_step=5 "));
}

TEST_CASE("broken JSON in a spec is refused with the file, the line and the column",
          "[client][mend-B10]") {
  const TempFolder folder;
  folder.write("job.json", "{\n  \"model\": \"mlp\",\n  \"mode\": sync\n}\n");

  const Run done = run("submit --server http://127.0.0.1:1 " + folder.path("job.json"));

  CHECK(done.exit_code == 1);
  CHECK(done.errors == "trainyard: " + folder.path("job.json") +
                           ": not JSON: line 3, column 11: invalid literal\n");
  CHECK_THAT(run("submit -").errors, Catch::Contains("standard input: not JSON: line 1, column 1"));
}

TEST_CASE("a key that is no header's value is wrong usage, and nothing is sent", "[client]") {
  const TempFolder folder;
  folder.write("job.json", "{}");
  const std::string submit = "submit " + folder.path("job.json") + " --server http://127.0.0.1:1 ";
  for (const std::string& key : {std::string(R"sh("$(printf 'a\r\nX-Evil: 1')")sh"),
                                 std::string("größe"), std::string("''"), std::string(256, 'k')}) {
    const Run refused = run(submit + "--idempotency-key " + key);
    INFO(key);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.errors, Catch::Contains("--idempotency-key") &&
                                   Catch::Contains("must have 1 to 255 characters"));
  }
  const Run sent = run(submit + "--idempotency-key '" + std::string(253, 'k') + " ~'");
  CHECK(sent.exit_code == 1);
  CHECK_THAT(sent.errors, Catch::Contains("no server answers"));
}

TEST_CASE("a label is a key and a value", "[client]") {
  for (const char* label : {"x", "=x", "''"}) {
    const Run refused = run("list --server http://127.0.0.1:1 --label " + std::string(label));
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.errors, Catch::Contains("must be KEY=VALUE"));
  }
  CHECK(run("list --server http://127.0.0.1:1 --label team=").exit_code == 1);  // nobody answers
}

TEST_CASE("an address that is no server's is wrong usage", "[client]") {
  const Run flag = run("--server ftp://x list");
  CHECK(flag.exit_code == 2);
  CHECK_THAT(flag.errors, Catch::Contains("\"ftp://x\" is not of the form http://HOST:PORT"));
  CHECK(run("list", "TRAINYARD_SERVER=ftp://x").exit_code == 2);
}

TEST_CASE("a spec without an end is not read to its end", "[client]") {
  const Run done = run("submit /dev/zero --server http://127.0.0.1:1");
  CHECK(done.exit_code == 1);
  CHECK(done.errors == "trainyard: /dev/zero is larger than 1 MiB, the most that a server takes\n");
  CHECK_THAT(run("submit /no/such/file").errors, Catch::Contains("cannot read /no/such/file"));
}

TEST_CASE("a tail of -1 asks for the whole log, and a wrong one is told its bounds",
          "[client][mend-B10]") {
  Peer peer({answer("all\n")});
  CHECK(run("logs j1 --tail -1 --server " + peer.url()).output == "all\n");
  CHECK(first_line(peer.requests().at(0)) == "GET /v1/jobs/j1/logs?tail=-1 HTTP/1.1");
  const Run wrong = run("logs j1 --tail -2");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.errors, Catch::Contains("-1"));
  CHECK(wrong.errors.size() < 160);
}

TEST_CASE("a download keeps the letters of a job's name and asks before it replaces a file",
          "[client][mend-B10]") {
  const TempFolder folder;
  const std::string named =
      R"({"id":"j1","spec":{"name":"训练/größe"},"status":{"state":"succeeded"}})";
  Peer peer({answer(named), http_answer("404 Not Found", R"({"detail":"no checkpoint"})"),
             answer(named), http_answer("206 Partial Content", "x"), answer(named),
             http_answer("404 Not Found", R"({"detail":"there is no checkpoint of step 99"})")});
  const std::string there = "cd " + folder.path("") + " &&";

  const Run none = run("download j1 --server " + peer.url(), there);
  CHECK(none.errors == "trainyard: no checkpoint\n");
  folder.write("训练-größe.safetensors", "mine");
  const Run refused = run("download j1 --server " + peer.url(), there);
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.errors, Catch::Contains("训练-größe.safetensors is there already: --force"));
  CHECK(content_of(folder.path("训练-größe.safetensors")) == "mine");
  CHECK_THAT(peer.requests().at(3), Catch::Contains("Range: bytes=0-0\r\n"));

  const Run no_such_step = run("download j1 --step 99 --server " + peer.url(), there);
  CHECK(no_such_step.errors == "trainyard: there is no checkpoint of step 99\n");
  const Run no_step = run("download j1 --step foo --server " + peer.url(), there);
  CHECK(no_step.exit_code == 2);
  CHECK_THAT(no_step.errors, Catch::Contains("must be latest, best, or a step, got \"foo\""));
}

TEST_CASE("a download as ONNX is asked for, and named so; another format is refused at once",
          "[client]") {
  const TempFolder folder;
  const std::string model = std::string("\x08\x08", 2) + "graph";
  Peer peer({answer(R"({"id":"j1","spec":{"name":"digits"},"status":{"state":"succeeded"}})"),
             http_answer("200 OK", model)});
  const std::string there = "cd " + folder.path("") + " &&";

  const Run done = run("download j1 --format onnx --server " + peer.url(), there);

  CHECK(done.exit_code == 0);
  CHECK_THAT(done.output, Catch::StartsWith("digits.onnx  "));
  CHECK(content_of(folder.path("digits.onnx")) == model);
  CHECK(first_line(peer.requests().at(1)) ==
        "GET /v1/jobs/j1/checkpoints/latest/download?format=onnx HTTP/1.1");
  const Run wrong = run("download j1 --format zip");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.errors, Catch::Contains("--format"));
}

TEST_CASE("get shows several jobs, and says of which examples a figure is", "[client][mend-B10]") {
  const auto shown = [](const std::string& id) {
    return answer(R"({"id":")" + id +
                  R"(","status":{"state":"running","metrics":{"accuracy":0.5,"loss":1,)"
                  R"("test_accuracy":0.25}}})");
  };
  const std::string no_tasks = R"({"items":[]})";
  Peer peer({shown("j1"), answer(no_tasks), shown("j2"), answer(no_tasks)});

  const Run done = run("get j1 j2 --server " + peer.url());

  CHECK(done.exit_code == 0);
  CHECK_THAT(done.output, Catch::Contains("id                             j1\n") &&
                              Catch::Contains("\n\nid                             j2\n") &&
                              Catch::Contains("accuracy (training batch)      0.5000\n") &&
                              Catch::Contains("test_accuracy                  0.2500\n"));
}

}  // namespace trainyard::client
