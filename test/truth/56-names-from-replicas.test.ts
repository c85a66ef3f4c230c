import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parsePath } from "../../src/core/values/path.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { checkMessage } from "../../src/replication/protocol/messages.ts";
import { entryFromWire, entryToWire } from "../../src/replication/protocol/write-back-entries.ts";
import { Serving } from "../server/serving.ts";

/** Names of actors, and ids of sessions, turns and actions, that must not reach a terminal through a replica. */

const BAD = ["clau\u001b[31mde", "claude\u200b", "\u202eedualc", "a\nb", " ", "bell\u0007", "\u00a0", "tag\u{e0041}"];
const FIELDS = ["actor", "session", "turn", "action"] as const;

const HASH = sha256("");
const STATE = { kind: "file", content_hash: HASH, size: 0, permissions: 0o644, is_deletion: false, mtime_ms: 0 };
const ENTRY = { local_seq: 1, filepath: "x", ...STATE, master_rowid_seen: 0, actor: "claude" };
const saying = (some: object): unknown => ({ type: "WriteBack", sandbox_id: "r", entries: [{ ...ENTRY, ...some }] });

describe("Truth 56: names that come from a replica", () => {
  it.each(FIELDS.flatMap((field) => BAD.map((bad) => [field, bad] as const)))("%s %j is refused", (field, bad) => {
    expect(() => checkMessage(saying({ [field]: bad }))).toThrow(expect.objectContaining({ code: "USAGE" }));
  });

  it.each(["claude", "Мария", "日本語", "agent (human)", "ambiguous", "unknown", "José"])("%j is accepted", (good) => {
    expect(() => checkMessage(saying(Object.fromEntries(FIELDS.map((field) => [field, good]))))).not.toThrow();
  });

  it.each(BAD)("a replica escapes or drops %j, so that its message is accepted", (bad) => {
    const entry = { localSeq: 1, path: parsePath("x"), entry: undefined, seen: 0 };
    const wired = entryToWire({ ...entry, actor: bad, session: bad, turn: bad, action: bad }, undefined, {
      isExact: true,
    });
    const message = checkMessage({ type: "WriteBack", sandbox_id: "r", entries: [wired] });
    const [sent] = message.type === "WriteBack" ? message.entries : [];
    const isBlank = bad.trim() === "";
    expect(sent === undefined ? undefined : entryFromWire(sent).actor).toBe(
      isBlank ? "unknown" : bad.replace(/[\p{Cc}\p{Cf}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`),
    );
    expect("session" in wired).toBe(!isBlank);
  });
});

describe("Truth 56: names in requests", () => {
  let serving: Serving;
  beforeAll(async () => {
    serving = await Serving.start();
    await serving.create("mine");
  });
  afterAll(() => serving[Symbol.asyncDispose]());

  it.each(["s\u001b[31m", "s\u0007", "s\u200b"])(
    "the session %j of a write and of a transaction is refused",
    async (session) => {
      const at = `a-${randomUUID()}.txt?session=${encodeURIComponent(session)}`;
      expect((await serving.put("mine", at, "x")).status).toBe(400);
      expect((await serving.send("/v1/workspaces/mine/transactions", { session })).status).toBe(400);
    },
  );
});
