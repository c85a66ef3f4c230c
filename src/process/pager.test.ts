import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { isUnattended, PagedOutput, pagerOf, throughPager } from "./pager.ts";

const OUT = (text: string): readonly [1, Uint8Array] => [1, Buffer.from(text)];
const ERR = (text: string): readonly [2, Uint8Array] => [2, Buffer.from(text)];

it.each([
  [{}, "less -FRX"],
  [{ PAGER: "more" }, "more"],
  [{ PAGER: "more", CHRONICLE_PAGER: "bat -p" }, "bat -p"],
  [{ PAGER: "more", CHRONICLE_PAGER: "" }, undefined],
  [{ PAGER: "" }, undefined],
  [{ PAGER: " cat " }, undefined],
])("the pager with %j is %s", (env, pager) => {
  expect(pagerOf(env)).toBe(pager);
});

it.each([
  [{ TERM: "xterm" }, false],
  [{ TERM: "xterm", CI: "", AGENT: "" }, false],
  [{}, true],
  [{ TERM: "" }, true],
  [{ TERM: "dumb" }, true],
  [{ TERM: "xterm", CI: "true" }, true],
  [{ TERM: "xterm-256color", PAGER: "cat", GEMINI_CLI: "1", CHRONICLE_PAGER: "less" }, true],
  [{ TERM: "xterm", CLAUDECODE: "1" }, true],
])("nobody is there to leave a pager with %j: %s", (env, isSo) => {
  expect(isUnattended(env)).toBe(isSo);
});

/** Resolves to true if the output was left to the caller, that is, if no pager was started. */
async function isPrinted(output: Parameters<typeof throughPager>[0], screen: { rows?: number; columns: number }) {
  const { rows, columns } = screen;
  const left = await throughPager(output, { env: { PAGER: "true" }, screen: { rows, columns } });
  return left === output;
}

it.each([
  ["lines that leave a line for the prompt", "1\n2\n3\n", true],
  ["a line too many", "1\n2\n3\n4\n", false],
  ["a line that is wrapped", "1\n2\n12345678901\n", false],
  ["a line that just fits", "1\n2\n1234567890\n", true],
  ["colours, which take no room", `1\n2\n\u001b[31m1234567890\u001b[39m\n`, true],
  ["characters of two columns", "1\n2\n一二三四五六\n", false],
  ["a tab", "1\n2\n\t123\n", false],
  ["empty lines", "\n\n\n\n", false],
])("a screen of 4 rows and 10 columns: %s", async (_, text, fits) => {
  expect(await isPrinted([OUT(text)], { rows: 4, columns: 10 })).toBe(fits);
});

it("text on stderr takes room on the screen, too, and is left to the caller", async () => {
  const output = [OUT("1\n2\n"), ERR("a\n"), OUT("3\n"), ERR("b\n")];
  const screen = { rows: 5, columns: 10 };
  expect(await throughPager(output, { env: { PAGER: "true" }, screen })).toEqual([ERR("a\n"), ERR("b\n")]);
});

it("a screen of unknown height fits everything", async () => {
  expect(await isPrinted([OUT("1\n".repeat(1_000))], { columns: 80 })).toBe(true);
});

it("a pager that ends with an error is named", async () => {
  const output = [OUT("text\n".repeat(30)), ERR("a\n")];
  const env = { PATH: process.env["PATH"], PAGER: "false" };
  const left = await throughPager(output, { env, screen: { rows: 24, columns: 80 } });
  expect(left.map(([fd, bytes]) => [fd, Buffer.from(bytes).toString()])).toEqual([
    [2, "a\n"],
    [
      2,
      "note: the pager ended with the exit code 1 (false); set CHRONICLE_PAGER to another pager, or to cat for none\n",
    ],
  ]);
});

it("output whose lines are split between its parts is measured whole", async () => {
  const parts = [..."1\n2\n一二三四五\n"].map((one) => OUT(one));
  expect(await isPrinted(parts, { rows: 4, columns: 10 })).toBe(true);
  expect(await isPrinted([...parts.slice(0, -1), OUT("六")], { rows: 4, columns: 10 })).toBe(false);
});

it("a pager that reads nothing of a large output is no error", async () => {
  const left = await throughPager([OUT("text\n".repeat(1_000_000))], {
    env: { PATH: process.env["PATH"], PAGER: "true" },
    screen: { rows: 24, columns: 80 },
  });
  expect(left).toEqual([]);
});

/** Waits until a file has this text. */
async function untilIn(file: string, text: string): Promise<void> {
  await vi.waitUntil(() => existsSync(file) && readFileSync(file, "utf8").includes(text), { timeout: 20_000 });
}

describe("output of a command that goes on", () => {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-pager-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const screen = { rows: 4, columns: 80 };
  const env = { PATH: process.env["PATH"] };

  it("is in the pager before its end", async () => {
    const got = join(folder, "got");
    const paged = new PagedOutput({ env: { ...env, PAGER: `cat > ${got}` }, screen });
    paged.write(OUT("1\n2\n3\n"));
    expect(paged.isShown).toBe(false);
    paged.write(OUT("4\n"));
    paged.write(ERR("a note\n"));
    await untilIn(got, "1\n2\n3\n4\n");
    paged.write(OUT("5\n"));
    expect(await paged.end()).toEqual([ERR("a note\n")]);
    expect(readFileSync(got, "utf8")).toBe("1\n2\n3\n4\n5\n");
  });

  it("ends with the pager, if the user leaves it, and waits for a pager that reads slowly", async () => {
    const got = join(folder, "go-on");
    const paged = new PagedOutput({ env: { ...env, PAGER: `until [ -e ${got} ]; do sleep 0.1; done` }, screen });
    let hasRoom = false;
    paged.write(OUT("text\n".repeat(100_000)));
    const waiting = paged.hasRoom().then(() => (hasRoom = true));
    await new Promise((done) => void setImmediate(done));
    expect([hasRoom, paged.isLeft]).toEqual([false, false]);
    writeFileSync(got, "");
    await waiting;
    await vi.waitUntil(() => paged.isLeft, { timeout: 20_000 });
    paged.write(OUT("more\n"));
    await paged.hasRoom();
    expect(await paged.end()).toEqual([]);
  });

  it("is not kept once the pager has read much of it", async () => {
    const paged = new PagedOutput({ env: { ...env, PAGER: "cat > /dev/null; exit 127" }, screen });
    const piece = "text\n".repeat(13_000);
    for (let at = 0; at < 100; at += 1) {
      paged.write(OUT(piece));
      await paged.hasRoom();
    }
    expect(paged.isEmpty).toBe(false);
    const left = await paged.end();
    expect(left.filter(([fd]) => fd === 1).reduce((sum, [, bytes]) => sum + bytes.length, 0)).toBeLessThan(1024 ** 2);
  });

  it("is whole if the pager cannot be started", async () => {
    const paged = new PagedOutput({ env: { ...env, PAGER: "nosuchpager" }, screen });
    paged.write(OUT("1\n2\n3\n4\n"));
    await paged.hasRoom();
    paged.write(OUT("5\n"));
    const left = await paged.end();
    expect([paged.isLeft, left.map(([fd]) => fd)]).toEqual([false, [1, 1, 2]]);
  });
});
