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

  it("take a code of a later version for IO, and say which it was", () => {
    for (const code of ["NEW_TROUBLE", "TO_STRING"]) {
      const message = { type: "Error", code, message: "?", fatal: false } as const;
      expect(errorFromMessage(message)).toMatchObject({ code: "IO", data: { code } });
    }
  });

  it("are cut to what a message holds, in the middle of a character too", () => {
    const error = new ChronicleError("IO", `x${"\u{1F600}".repeat(5000)}`, { hint: "y".repeat(5000) });
    const message = errorToMessage(error, false);
    expect(decodeMessage(encodeMessage(message))).toEqual(message);
  });

  it("have a close code on a WebSocket", () => {
    const codes = [undefined, "USAGE", "LIMIT_EXCEEDED", "UNAUTHENTICATED", "LOG_DAMAGED"] as const;
    expect(codes.map(closeCodeOf)).toEqual([1000, 1002, 1009, 4401, 1011]);
  });
});
