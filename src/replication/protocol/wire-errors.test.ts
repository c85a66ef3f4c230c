import { describe, expect, it } from "vitest";
import { ChronicleError } from "../../core/values/errors.ts";
import { decodeMessage, encodeMessage } from "./codec.ts";
import { closeCodeOf, errorFromMessage, errorToMessage } from "./wire-errors.ts";

describe("errors as messages", () => {
  it("keep code, message and hint, not their data", () => {
    const error = new ChronicleError("FORBIDDEN", "no", { hint: "ask", data: { token: "secret" } });
    const message = errorToMessage(error, true);
    expect(message).toEqual({ type: "Error", code: "FORBIDDEN", message: "no", hint: "ask", fatal: true });
    expect(errorFromMessage(message)).toMatchObject({ code: "FORBIDDEN", hint: "ask", data: { peer: true } });
  });

  it("with a code of a later version become IO, with that code in their data", () => {
    for (const code of ["NEW_TROUBLE", "TO_STRING"]) {
      const message = { type: "Error", code, message: "?", fatal: false } as const;
      expect(errorFromMessage(message)).toMatchObject({ code: "IO", data: { code } });
    }
  });

  it.each([
    ["IO", { errno: "ENOSPC" }, "the store's disk has no room (ENOSPC)"],
    ["IO", {}, "the sender has failed"],
    ["BLOB_CORRUPT", {}, "a content in the store is damaged"],
    ["LOG_DAMAGED", {}, "a log in the store is damaged, or cannot be read"],
    ["READ_ONLY", { errno: "EROFS" }, "the store's file system is read-only (EROFS)"],
  ] as const)("describe a failure of this side without its paths: %s %o", (code, data, words) => {
    const error = new ChronicleError(code, "writing /home/me/0.pack", { hint: "look at /home/me", data });
    const said = errorToMessage(error, true, "ID");
    expect(said.message).toBe(`${words}; the sender's diagnostics say more under ID`);
    expect(errorToMessage(error, true).message).toBe(words);
    expect(JSON.stringify(said)).not.toContain("/home");
  });

  it("are cut to the length that a message holds, also in the middle of a character", () => {
    const error = new ChronicleError("USAGE", `x${"\u{1F600}".repeat(5000)}`, { hint: "y".repeat(5000) });
    const message = errorToMessage(error, false);
    expect(decodeMessage(encodeMessage(message))).toEqual(message);
  });

  it("have a close code on a WebSocket", () => {
    const codes = [undefined, "USAGE", "LIMIT_EXCEEDED", "UNAUTHENTICATED", "LOG_DAMAGED"] as const;
    expect(codes.map(closeCodeOf)).toEqual([1000, 1002, 1009, 4401, 1011]);
  });
});
