import { describe, expect, it } from "vitest";
import { memoryIo } from "../../test/cli/memory-io.ts";
import { ChronicleError, type ErrorCode } from "../core/values/errors.ts";
import { openStore } from "../open.ts";
import { runCli } from "./run-cli.ts";

/** Runs a command line. If the command opens the store, `error` is thrown. */
async function failing(error: Error, argv: readonly string[], more: Parameters<typeof memoryIo>[1] = {}) {
  const io = memoryIo(argv, { open: () => Promise.reject(error), ...more });
  const code = await runCli(io);
  return { code, out: io.out.text, err: io.err.text };
}

describe("exit codes of errors", () => {
  const codes: readonly (readonly [ErrorCode, number])[] = [
    ["USAGE", 2],
    ["PATH_INVALID", 2],
    ["AMBIGUOUS", 2],
    ["NOT_FOUND", 3],
    ["PRUNED", 3],
    ["LOCKED", 5],
    ["LIMIT_EXCEEDED", 6],
    ["UNSAFE", 6],
    ["REFUSED", 6],
    ["PLATFORM_UNSUPPORTED", 6],
    ["LOG_DAMAGED", 4],
    ["BLOB_MISSING", 4],
    ["BLOB_CORRUPT", 4],
    ["INTEGRITY_VIOLATION", 4],
    ["ROLLBACK_DETECTED", 4],
    ["READ_ONLY", 1],
    ["POISONED", 1],
    ["FORMAT_UNSUPPORTED", 1],
    ["IO", 1],
  ];

  it.each(codes)("%s: %i", async (code, exit) => {
    const error = new ChronicleError(code, "it failed", { hint: "do this", data: { path: "x" } });
    const text = await failing(error, ["status"]);
    expect(text).toEqual({ code: exit, out: "", err: "chronicle: it failed\n  do this\n" });
    const json = await failing(error, ["status", "--json"]);
    expect([json.code, json.err]).toEqual([exit, ""]);
    expect(JSON.parse(json.out)).toEqual({
      error: { code, message: "it failed", hint: "do this", data: { path: "x" } },
    });
  });
});

describe("errors", () => {
  it("run fails with 125 before the command started, and leaves stdout alone", async () => {
    const error = new ChronicleError("LOCKED", "locked by 12", { hint: "wait" });
    const plain = await failing(error, ["run", "--", "true"]);
    expect(plain).toEqual({ code: 125, out: "", err: "chronicle: locked by 12\n  wait\n" });
    const json = await failing(error, ["run", "--json", "--", "true"]);
    expect([json.code, json.out]).toEqual([125, ""]);
    expect(JSON.parse(json.err)).toMatchObject({ error: { code: "LOCKED" } });
  });

  it("of the system are reported with their errno and a hint", async () => {
    const error = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect(await failing(error, ["status"])).toEqual({
      code: 1,
      out: "",
      err: "chronicle: ENOSPC: no space left on device, write\n  free some space on that disk, and try again\n",
    });
    expect(JSON.parse((await failing(error, ["status", "--json"])).out)).toMatchObject({
      error: { code: "IO", data: { errno: "ENOSPC" }, hint: "free some space on that disk, and try again" },
    });
  });

  it("that are unexpected are called a bug, and their stack is shown only if CHRONICLE_DEBUG is set", async () => {
    const error = new TypeError("x is undefined");
    const { code, err } = await failing(error, ["status"]);
    expect(code).toBe(1);
    expect(err).toBe(
      "chronicle: unexpected: x is undefined\n  this is a bug in Chronicle; CHRONICLE_DEBUG=1 shows where\n",
    );
    const debug = await failing(error, ["status"], { env: { CHRONICLE_DEBUG: "1" } });
    expect(debug.err).toContain("run-cli.test.ts");
  });

  it("cannot move the cursor, and have colours on a terminal only", async () => {
    const error = new ChronicleError("NOT_FOUND", "no \u001b[2Jfile\nx", { hint: "a\u0007\nb" });
    const plain = await failing(error, ["status"]);
    expect(plain.err).toBe("chronicle: no \\e[2Jfile\\nx\n  a\\u{7}\n  b\n");
    const shown = await failing(error, ["status"], { terminal: true });
    expect(shown.err).toContain("\u001b[31mchronicle:\u001b[39m no \\e[2J");
    const off = await failing(error, ["--no-color", "status"], { terminal: true });
    expect(off.err).toBe(plain.err);
  });

  it("of usage are JSON too, wherever --json is on the command line", async () => {
    for (const argv of [
      ["--json", "nonsense"],
      ["status", "--json", "--frob"],
      ["restore", "--json"],
    ]) {
      const { code, out, err } = await failing(new Error("never"), argv);
      expect([code, err]).toEqual([2, ""]);
      expect(JSON.parse(out)).toMatchObject({ error: { code: "USAGE" } });
    }
  });

  it("`chronicle` without a command says how to begin if nothing is recorded", async () => {
    const error = new ChronicleError("NOT_FOUND", "no workspace here");
    const bare = await failing(error, []);
    expect(bare).toMatchObject({ code: 0, err: "" });
    expect(bare.out).toContain("chronicle run -- <command>");
    expect(await failing(error, ["list"])).toMatchObject({ code: 3, out: "" });
    expect(await failing(error, ["--json"])).toMatchObject({ code: 3, err: "" });
  });

  it("of a command are reported even if the store cannot be closed afterwards", async () => {
    const store = await openStore({ home: "memory:", configFolder: "/nowhere" });
    const close = store.close.bind(store);
    store.close = async () => {
      await close();
      throw new ChronicleError("IO", "the disk is gone");
    };
    const io = memoryIo(["-w", "none", "status"], { open: () => Promise.resolve(store) });
    expect(await runCli(io)).toBe(3);
    expect(io.err.text).toContain('chronicle: there is no workspace "none"\n');
    expect(io.err.text).toContain("chronicle: the history could not be closed: the disk is gone\n");
  });
});
