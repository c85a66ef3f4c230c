import { expect, it } from "vitest";
import { outcomeWords } from "./outcome.tsx";

it("says how work ended that did not succeed, with the exit code or the signal", () => {
  expect(outcomeWords({ exit_code: 0 })).toBe("");
  expect(outcomeWords({})).toBe("");
  expect(outcomeWords({ outcome: "failed", exit_code: 2 })).toBe("failed, exit code 2");
  expect(outcomeWords({ outcome: "failed", signal: "SIGTERM" })).toBe("failed, ended by SIGTERM");
  expect(outcomeWords({ outcome: "failed" })).toBe("failed");
  expect(outcomeWords({ outcome: "abandoned" })).toBe("abandoned");
});
