import { describe } from "vitest";
import { McpProject } from "../helpers/mcp-project.ts";
import { actionsSuite } from "./actions-suite.ts";
import { toolsSuite } from "./tools-suite.ts";

describe("chronicle mcp --remote: tools", () => {
  toolsSuite((prepare) => McpProject.startRemote(prepare));
});
describe("chronicle mcp --remote: actions", () => {
  actionsSuite((prepare) => McpProject.startRemote(prepare));
});
