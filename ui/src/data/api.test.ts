import { expect, it } from "vitest";
import { untilRefused } from "./api.ts";

it("nothing more is sent once the token was refused, and everybody gets the refusal", async () => {
  const sent: string[] = [];
  const asks = untilRefused((input) => {
    const path = typeof input === "string" ? input : "";
    sent.push(path);
    return Promise.resolve(new Response(`answer to ${path}`, { status: path === "/bad" ? 401 : 429 }));
  });
  const answers = [];
  for (const input of ["/busy", "/bad", "/a", "/b"]) {
    const response = await asks(input);
    answers.push([response.status, await response.text()]);
  }
  expect(sent).toEqual(["/busy", "/bad"]);
  const refusal = [401, "answer to /bad"];
  expect(answers).toEqual([[429, "answer to /busy"], refusal, refusal, refusal]);
});
