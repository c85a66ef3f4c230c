import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { Tool } from "./tool.ts";
import { BACK_TOOLS } from "./tools/back-tools.ts";
import { CONFLICT_TOOLS } from "./tools/conflict-tools.ts";
import { FILE_TOOLS } from "./tools/file-tools.ts";
import { LOOK_TOOLS } from "./tools/look-tools.ts";
import { STATE_TOOLS } from "./tools/state-tools.ts";
import { TRANSACTION_TOOLS } from "./tools/transaction-tools.ts";

/** Every tool, in the order in which clients list them. */
export const TOOLS: readonly Tool[] = [
  ...LOOK_TOOLS,
  ...FILE_TOOLS,
  ...BACK_TOOLS,
  ...TRANSACTION_TOOLS,
  ...CONFLICT_TOOLS,
  ...STATE_TOOLS,
];

/**
 * Returns the protocol's annotations for a tool's effects: only tools that change files are destructive, and nothing
 * leaves the machine.
 */
export function annotationsOf({ title, effect, idempotent }: Tool): ToolAnnotations {
  return {
    title,
    readOnlyHint: effect === "reads",
    destructiveHint: effect === "changes",
    idempotentHint: effect === "reads" || idempotent === true,
    openWorldHint: false,
  };
}
