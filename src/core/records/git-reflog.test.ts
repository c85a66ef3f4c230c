import { expect, it } from "vitest";
import { parseReflog, reflogMessages } from "./git-reflog.ts";

const [ZERO, A, B, C] = ["0", "a", "b", "c"].map((digit) => digit.repeat(40)) as [string, string, string, string];

const line = (before: string, after: string, time: number, message: string): string =>
  `${before} ${after} A U <a@example.com> ${time} +0100\t${message}\n`;

const LINES = parseReflog(
  `cut off line\n${line(ZERO, A, 10, "commit (initial): a")}${line(A, B, 20, "commit: b > c")}${line(B, C, 30, "commit: c")}` +
    `${line(C, B, 40, "reset: moving to HEAD~1")}${line(B, C, 50, "reset: moving to ORIG_HEAD")}${line(C, B, 60, "reset: again")}`,
);

it("a reflog tells what moved HEAD from one commit to another", () => {
  const move = (before: string | undefined, after: string | undefined, seconds: number): string[] =>
    reflogMessages(LINES, { before, after, isSwitch: false, ended: seconds * 1000 });
  expect(move(C, B, 40)).toEqual(["reset: moving to HEAD~1"]);
  expect(move(C, B, 99)).toEqual(["reset: again"]);
  expect(move(A, C, 35)).toEqual(["commit: b > c", "commit: c"]);
  expect(move(undefined, A, 15)).toEqual(["commit (initial): a"]);
  expect(move(A, C, 20)).toEqual([]);
  expect(move("d".repeat(40), B, 99)).toEqual([]);
  expect(move(A, undefined, 99)).toEqual([]);
});

it("a switch to another branch counts only if the work was one", () => {
  const lines = parseReflog(line(A, B, 10, "reset: moving to b") + line(B, B, 10, "checkout: moving from b to c"));
  const move = { before: A, after: B, ended: 10_500 };
  expect(reflogMessages(lines, { ...move, isSwitch: false })).toEqual(["reset: moving to b"]);
  const moved = { ...move, before: B, isSwitch: true };
  expect(reflogMessages(lines, moved)).toEqual(["checkout: moving from b to c"]);
});
