import { expect, it } from "vitest";
import { cliReference } from "./reference.ts";

it("docs/cli.md is the reference that the commands generate", async () => {
  await expect(cliReference()).toMatchFileSnapshot("../../docs/cli.md");
});
