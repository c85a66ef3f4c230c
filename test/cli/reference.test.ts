import { expect, it } from "vitest";
import { cliReference } from "./reference.ts";

it("docs/cli.md says what the commands say", async () => {
  await expect(cliReference()).toMatchFileSnapshot("../../docs/cli.md");
});
