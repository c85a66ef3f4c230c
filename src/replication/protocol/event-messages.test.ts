import { describe, expect, it } from "vitest";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { sha256 } from "../../core/values/hash.ts";
import { fileEvent, userEvent } from "../../testing/protocol-samples.ts";
import { decodeMessage, encodeMessage } from "./codec.ts";
import {
  checkInline,
  eventsOf,
  notificationOf,
  openEvents,
  openNotification,
  openRename,
  renameOf,
  stateFromFields,
  stateToFields,
} from "./event-messages.ts";
import { MAX_LINES_BYTES } from "./limits.ts";
import type { MessageOf } from "./messages.ts";

const first = fileEvent(EMPTY_HEAD, "src/a.ts", "one");
const second = fileEvent(first, "src/a.ts", undefined);
const third = fileEvent(second, "src/b.ts", "one");

function notified(...args: Parameters<typeof notificationOf>): MessageOf<"Notification"> {
  const message = notificationOf(...args);
  if (message === undefined) throw new Error("no notification");
  return message;
}

const violation = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });

describe("notificationOf", () => {
  it("has the original's fields, and the line as it is", () => {
    expect(notified(first, Buffer.from("one"))).toEqual({
      type: "Notification",
      sequence: 1,
      filepath: "src/a.ts",
      kind: "file",
      content_hash: sha256("one"),
      size: 3,
      permissions: 0o644,
      is_deletion: false,
      line: first.line,
      inline_content: Buffer.from("one"),
    });
    expect(notified(second)).toMatchObject({ is_deletion: true, kind: "absent", content_hash: null });
  });

  it("sends contents under 4 KiB inline, no others", () => {
    const event = (size: number) => fileEvent(EMPTY_HEAD, "f", "x".repeat(size));
    expect(notified(event(4095), Buffer.alloc(4095)).inline_content).toHaveLength(4095);
    expect(notified(event(4096), Buffer.alloc(4096)).inline_content).toBeUndefined();
  });

  it("makes no notification of an event that is not a file's, or whose path peers refuse", () => {
    expect(notificationOf(userEvent(EMPTY_HEAD, 5))).toBeUndefined();
    expect(notificationOf(fileEvent(EMPTY_HEAD, "C:\\x", "a"))).toBeUndefined();
  });

  it("carries names that are not UTF-8", () => {
    const event = fileEvent(EMPTY_HEAD, "a\udcff", "x");
    const message = notified(event);
    expect(message.filepath_b64).toBe("Yf8=");
    expect(openNotification(decodeMessage(encodeMessage(message)) as typeof message, EMPTY_HEAD).recordId).toBe(
      "file64:Yf8=",
    );
  });
});

describe("openNotification", () => {
  it("gives the event back", () => {
    expect(openNotification(notified(second), first)).toMatchObject({ seq: 2, hash: second.hash });
  });

  it.each<[string, Partial<MessageOf<"Notification">>]>([
    ["another path", { filepath: "src/b.ts" }],
    ["another content", { content_hash: sha256("two") }],
    ["another size", { size: 4 }],
    ["other permissions", { permissions: 0o755 }],
    ["another sequence", { sequence: 2 }],
    ["a changed line", { line: first.line.replace("test", "tent") }],
    ["inline content that is another", { inline_content: Buffer.from("two") }],
  ])("refuses %s than the line says", (_, change) => {
    const lie = { ...notified(first, Buffer.from("one")), ...change };
    expect(() => openNotification(lie, EMPTY_HEAD)).toThrow(violation);
  });

  it("refuses a line that does not continue the last event", () => {
    expect(() => openNotification(notified(third), first)).toThrow(violation);
    expect(() => openNotification(notified(first), first)).toThrow(violation);
    const forged = fileEvent({ seq: 1, hash: sha256("other") }, "x", "y");
    expect(() => openNotification(notified(forged), first)).toThrow(violation);
  });
});

describe("renames", () => {
  it("are made of a deletion and a creation in a row, and are opened as these two events", () => {
    const message = renameOf(second, third);
    expect(message).toMatchObject({ sequence: 2, from: { filepath: "src/a.ts" }, to: { filepath: "src/b.ts" } });
    if (message === undefined) throw new Error("no rename");
    const back = decodeMessage(encodeMessage(message)) as typeof message;
    expect(openRename(back, first).map(({ seq }) => seq)).toEqual([2, 3]);
    expect(() => openRename({ ...back, to: { filepath: "src/c.ts" } }, first)).toThrow(violation);
    expect(() => openRename({ ...back, lines: [second.line, second.line] }, first)).toThrow(violation);
  });

  it("are made of no other events", () => {
    expect(renameOf(first, second)).toBeUndefined();
    expect(renameOf(second, fileEvent(third, "src/c.ts", "x"))).toBeUndefined();
    expect(renameOf(second, fileEvent(second, "src/a.ts", "x"))).toBeUndefined();
  });
});

describe("Events", () => {
  it("carry lines exactly, as many as fit into one message", () => {
    const messages = [...eventsOf([first, second, third])];
    expect(messages).toMatchObject([{ first_sequence: 1, last_sequence: 3 }]);
    const [message] = messages.map((one) => decodeMessage(encodeMessage(one)) as typeof one);
    if (message === undefined) throw new Error("no events");
    expect(Buffer.from(message.lines).toString()).toBe(`${first.line}\n${second.line}\n${third.line}\n`);
    expect(openEvents(message, EMPTY_HEAD).map(({ hash }) => hash)).toEqual([first.hash, second.hash, third.hash]);
    expect(() => openEvents({ ...message, last_sequence: 4 }, EMPTY_HEAD)).toThrow(violation);
    expect(() => openEvents({ ...message, lines: message.lines.subarray(0, -1) }, EMPTY_HEAD)).toThrow(violation);
    expect(() => openEvents(message, first)).toThrow(violation);
  });

  it("are split if they grow too long, and a line that is longer than one message goes in parts", () => {
    const a = userEvent(EMPTY_HEAD, 1_500_000);
    const b = userEvent(a, 1_500_000);
    const long = userEvent(b, 5_000_000);
    const last = userEvent(long, 5);
    const messages = [...eventsOf([a, b, long, last])];
    expect(
      messages.map(({ first_sequence, last_sequence, part }) => [first_sequence, last_sequence, part?.offset]),
    ).toEqual([
      [1, 1, undefined],
      [2, 2, undefined],
      [3, 3, 0],
      [3, 3, MAX_LINES_BYTES],
      [3, 3, 2 * MAX_LINES_BYTES],
      [4, 4, undefined],
    ]);
    const parts = messages.filter(({ part }) => part !== undefined);
    expect(Buffer.concat(parts.map(({ lines }) => lines)).toString()).toBe(`${long.line}\n`);
  });
});

describe("states", () => {
  it("are the same after encoding to fields and decoding", () => {
    const entry = { path: "a" as never, kind: "file", mode: 0o644, size: 3, mtimeMs: 7, hash: sha256("one") } as const;
    expect(stateFromFields({ ...stateToFields(entry.path, entry), mtime_ms: 7 })).toEqual({ path: "a", entry });
    expect(stateFromFields({ ...stateToFields(entry.path, undefined), mtime_ms: 7 })).toEqual({
      path: "a",
      entry: undefined,
    });
  });

  it("are refused with another content than they name", () => {
    expect(() => checkInline({ content_hash: sha256("a"), inline_content: Buffer.from("b") })).toThrow(violation);
    expect(() => checkInline({ content_hash: sha256("a") })).not.toThrow();
  });
});
