import { describe } from "vitest";
import { McpProject } from "../helpers/mcp-project.ts";
import { actionsSuite } from "./actions-suite.ts";

describe("in this process", () => {
  actionsSuite((prepare) => McpProject.start(prepare));
});
