import { expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";

it("a line that comes and goes too often for the memory is refused, and found by its files", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const lines = Buffer.from(Array.from({ length: 50_000 }, (_, i) => `line ${i}\n`).join(""));
  for (let i = 0; i < 21; i += 1) {
    await workspace.putFile("a", lines, { actor: "ann" });
    await workspace.putFile("a", Buffer.from("nothing\n"), { actor: "ann" });
  }
  await expect(workspace.grep("line", { history: true, limit: 1 })).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  expect(await workspace.grep("line", { history: true, filesOnly: true })).toMatchObject({ total_matches: 1 });
  expect(await workspace.grep("line 7$", { history: true })).toMatchObject({ total_matches: 21 });
});
