import { expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

it.each([["resume", "--accept-deletions"], ["adopt-as-new"], ["rejoin"]])(
  "72 an agent may not decide about a sync in place of a person: %s %s",
  async (...words) => {
    using box = new Sandbox();
    await box.must(["init"]);
    const asked = ["sync", ...words];
    const refused = await box.call(asked, { env: { CHRONICLE_ROLE: "agent" } });
    expect(refused).toMatchObject({ code: 6, stderr: expect.stringContaining("an agent may not do this: sync") });
    const within = box.run(["run", "--", ...box.command, ...asked]);
    expect(within.code).toBe(6);
    expect(within.stderr).toContain("an agent may not do this: sync");
  },
);
