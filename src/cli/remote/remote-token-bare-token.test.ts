import { expect, it } from "vitest";
import { bareTokenNote } from "./remote-token.ts";

it.each([
  ["http://example.org:7420", "secret", true],
  ["http://10.0.0.7", "secret", true],
  ["http://example.org:7420", undefined, false],
  ["https://example.org", "secret", false],
  ["http://127.0.0.1:7420", "secret", false],
  ["http://[::1]:7420", "secret", false],
  ["http://localhost", "secret", false],
  ["unix:/run/x.sock", "secret", false],
])("a note warns about a token for %s (token: %s): %s", (url, token, isTold) => {
  const note = bareTokenNote(url, token);
  expect(note !== undefined).toBe(isTold);
  expect(note ?? "").not.toContain("secret");
});
