import { expect, it } from "vitest";
import { HostedProject } from "../../test/helpers/hosted-project.ts";
import { Project } from "../../test/helpers/project.ts";
import type { LinePattern } from "../core/text/line-search.ts";
import { LineSearch } from "../core/text/line-search.ts";
import { SearchBudget } from "../core/text/search-budget.ts";
import { MemoryBlobStore } from "../storage/memory/memory-blob-store.ts";
import { FileContentSearch } from "./file-content-search.ts";
import { searchInTime, timeLimitOf } from "./search-job.ts";

const limitOf = (): number => 5_000;

const budgetOf = (slow: number, bytes = 1_000_000): SearchBudget => SearchBudget.of({ slow, bytes });

const pattern = (text: string): LinePattern => ({ text, isFixed: false, ignoresCase: false });

it("threads find in many contents, in packs and in files of their own, what is there", async () => {
  await using project = new Project();
  for (let i = 0; i < 700; i += 1) project.write(`many/${i}.txt`, `first\nvalue ${i}\n`);
  project.write("large.txt", `${"filler of a large file\n".repeat(500_000)}value 77 in the large file\n`);
  project.write("image", `\0${"x".repeat(100)} value 77`);
  const workspace = await project.init();
  const found = await workspace.grep("^val.e \\d*77\\b");
  expect(found.matches.map(({ path, line, text }) => [path, line, text])).toEqual([
    ["large.txt", 500_001, "value 77 in the large file"],
    ["many/177.txt", 2, "value 177"],
    ["many/277.txt", 2, "value 277"],
    ["many/377.txt", 2, "value 377"],
    ["many/477.txt", 2, "value 477"],
    ["many/577.txt", 2, "value 577"],
    ["many/677.txt", 2, "value 677"],
    ["many/77.txt", 2, "value 77"],
  ]);
  expect(found).toMatchObject({ contents: 702, complete: true });
  const first = await workspace.grep("first", { limit: 3, history: true });
  expect([first.matches.length, first.total_matches]).toEqual([3, 700]);
  const now = await workspace.grep("first", { limit: 3 });
  expect(now.matches.map(({ path }) => path)).toEqual(["many/0.txt", "many/1.txt", "many/10.txt"]);
  expect(now.total_matches).toBe(700);
});

it("a content is slow only if it alone takes too long, wherever it stands in a batch", () => {
  const evil = Buffer.from(`${"a".repeat(60)}b`);
  const [good, other] = [Buffer.from("aaa"), Buffer.from("b")];
  const briefly = (): number => 150;
  const search = new LineSearch(pattern("^(a+)+$"));
  const outcomes = searchInTime(search, [good, evil, undefined, other, evil, good], {
    mostLines: 9,
    limitOf: briefly,
    budget: budgetOf(9),
  });
  expect(outcomes.map((one) => (typeof one === "string" ? one : one.lines[0]?.text))).toEqual([
    "aaa",
    "slow",
    "unread",
    "none",
    "slow",
    "aaa",
  ]);
});

it("a batch ends when too many contents are slow, or when the time of the whole search is over", () => {
  const evil = Buffer.from(`${"a".repeat(60)}b`);
  const search = new LineSearch(pattern("^(a+)+$"));
  const contents = [evil, evil, evil, Buffer.from("aaa")];
  const budget = budgetOf(2);
  const how = { mostLines: 9, limitOf: (): number => 20 };
  expect(searchInTime(search, contents, { ...how, budget })).toEqual(["slow", "slow", "left", "left"]);
  const stopped = budgetOf(9);
  stopped.stop();
  expect(searchInTime(search, contents, { ...how, budget: stopped })).toEqual(["left", "left", "left", "left"]);
});

it("a batch returns only the lines that are needed, and counts the others", () => {
  const search = new LineSearch(pattern("a"));
  const contents = ["a\na\n", "a\nb\na\n", "a\n", "b\n"].map((one) => Buffer.from(one));
  const outcomes = searchInTime(search, contents, { mostLines: 3, limitOf, budget: budgetOf(9) });
  expect(outcomes.map((one) => (typeof one === "string" ? one : [one.lines.length, one.total]))).toEqual([
    [2, 2],
    [1, 2],
    [0, 1],
    "none",
  ]);
});

it("a search fails as soon as the lines of a content need too much memory", () => {
  const search = new LineSearch(pattern("."));
  const lines = Buffer.from("some text of a line\n".repeat(10_000));
  const how = { mostLines: Number.MAX_SAFE_INTEGER, limitOf };
  expect(() => searchInTime(search, [lines], { ...how, budget: budgetOf(9) })).toThrow("more lines match");
});

it("the lines of a content that turns out to be slow need no memory of the budget", () => {
  const search = new LineSearch(pattern("^(a+)+$"));
  const budget = budgetOf(9);
  const evil = Buffer.from(`${"aaa\n".repeat(5_000)}${"a".repeat(60)}b`);
  expect(searchInTime(search, [evil], { mostLines: 9_999, limitOf: () => 100, budget })).toEqual(["slow"]);
  budget.take(1_000_000);
});

it.each([
  ["are slow", { slow: 2, mostMs: 60_000 }, ["slow", "slow"]],
  ["take too long", { slow: 9, mostMs: 500 }, ["slow"]],
])("a search without threads ends when its contents %s", async (_, { slow, mostMs }, outcomes) => {
  const blobs = new MemoryBlobStore();
  const batch = await blobs.batch();
  const contents = [];
  for (const end of ["b", "c", "d"]) {
    const bytes = Buffer.from(`${"a".repeat(60)}${end}`);
    contents.push({ hash: await batch.put(bytes), size: bytes.length });
  }
  await batch.commit();
  const search = new FileContentSearch({ home: "", threads: false, placesOf: undefined });
  const found = [];
  const request = { blobs, contents, pattern: pattern("^(a+)+$"), mostLines: 9, budget: budgetOf(slow), mostMs };
  for await (const { outcome } of search.search(request)) found.push(outcome);
  expect(found).toEqual(outcomes);
});

it("a line that exhausts the stack of a pattern makes its content slow, and the others are searched", () => {
  const endless = Buffer.from(`"${"a".repeat(8_000_000)}`);
  const search = new LineSearch(pattern(String.raw`"([^"\\]|\\.)*"`));
  const outcomes = searchInTime(search, [Buffer.from('"a"'), endless, Buffer.from("b")], {
    mostLines: 9,
    limitOf,
    budget: budgetOf(9),
  });
  expect(outcomes).toMatchObject([{ total: 1 }, "slow", "none"]);
});

it.each([String.raw`foo[\s\S]*bar`, String.raw`foo(?:\w|\s)*bar`, String.raw`foo[\t-z]*bar`])(
  "%s, which may match line ends, takes no longer for a content than its lines do",
  (text) => {
    const search = new LineSearch(pattern(text));
    const content = Buffer.from("foo x\n".repeat(50_000));
    expect(searchInTime(search, [content], { mostLines: 9, limitOf: timeLimitOf, budget: budgetOf(9) })).toEqual([
      "none",
    ]);
  },
);

it("the process answers others while a pattern takes too long", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await workspace.putFile("evil", Buffer.from(`${"a".repeat(60)}b`), { actor: "ann" });
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 5);
  const { complete } = await workspace.grep("^(a+)+$");
  clearInterval(timer);
  // The search takes more than a second, in which a blocked process would count nothing.
  expect([complete, ticks > 20]).toEqual([false, true]);
});
