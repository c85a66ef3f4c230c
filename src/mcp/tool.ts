import type { CallToolResult } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import type { ErrorCode } from "../core/values/errors.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { type Answer, MOST_CHARS, type Room, roomOf, resultOf, USUAL_CHARS } from "./tool-answer.ts";
import { shortened } from "./one-line.ts";
import { optional } from "../util/optional.ts";
import { outputSchemaOf } from "./outputs.ts";

/**
 * `reads` changes nothing. `records` adds to the history, but changes no file of the workspace. `changes` changes
 * files, after their present state was recorded.
 */
export type Effect = "reads" | "records" | "changes";

/**
 * One MCP tool. The list of tools that clients see is made from these fields. A test checks that the table in
 * `docs/mcp.md` agrees with them.
 */
export interface ToolSpec<Input extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** The text for a model that knows nothing else: what the tool does, when to use it, and how to undo its effect. */
  readonly description: string;
  readonly input: Input;
  /** The fields of an answer besides the summary and the next steps (see `outputs.ts`). */
  readonly output: z.ZodRawShape;
  readonly effect: Effect;
  /** True if a second call with the same arguments changes nothing more. Default: true for `reads`, otherwise false. */
  readonly idempotent?: boolean;
  /**
   * Hints that name tools, by error code. If a call fails, the answer has the hint for the error's code before the
   * error's own hint.
   */
  readonly hints?: Readonly<Partial<Record<ErrorCode, string>>>;
  /** The advice, for an answer that was cut, about arguments that make the answer shorter: "or name fewer `paths`". */
  readonly narrow?: string;
  /**
   * `room`: the room to which the answer will be shortened. A tool needs `room` if its answer continues in a further
   * call.
   */
  readonly run: (workspace: WorkspaceApi, args: z.output<Input>, room: Room) => Promise<Answer>;
}

/** A tool that checks its arguments before it runs. */
export interface Tool extends Omit<ToolSpec<z.ZodObject>, "input" | "output" | "run" | "narrow"> {
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  readonly outputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  /** The names of the arguments. */
  readonly args: ReadonlySet<string>;
  /**
   * Runs the tool, and shortens its answer to the room that the call gives. Rejects with `USAGE` if the arguments do
   * not fit the schema. `workspace` is called only if the arguments fit.
   */
  readonly call: (workspace: () => Promise<WorkspaceApi>, args: unknown) => Promise<CallToolResult>;
}

/** The argument that every tool has besides its own. */
export const ROOM_ARGUMENT = "max_chars";

const room = {
  [ROOM_ARGUMENT]: z
    .number()
    .int()
    .min(200)
    .max(MOST_CHARS)
    .optional()
    .describe(`the answer's maximum length, in characters (default ${USUAL_CHARS})`),
} satisfies z.ZodRawShape;

const MAX_COMPLAINT = 500;

export function defineTool<Input extends z.ZodObject>({ input, output, narrow, run, ...spec }: ToolSpec<Input>): Tool {
  const all = input.extend(room);
  const { $schema: _, ...schema } = z.toJSONSchema(all, { io: "input" });
  return {
    ...spec,
    inputSchema: { ...schema, type: "object" },
    outputSchema: outputSchemaOf(output),
    args: new Set(Object.keys(all.shape)),
    call: async (workspace, args) => {
      const given: Readonly<Record<string, unknown>> = { ...(args as object | null | undefined) };
      const { [ROOM_ARGUMENT]: maxChars, ...own } = given;
      const asked = z.strictObject(room).safeParse(maxChars === undefined ? {} : { [ROOM_ARGUMENT]: maxChars });
      const parsed = input.safeParse(own);
      if (!asked.success) throw badArguments(spec.name, asked.error);
      if (!parsed.success) throw badArguments(spec.name, parsed.error);
      const space = roomOf(asked.data[ROOM_ARGUMENT] ?? USUAL_CHARS);
      return resultOf({ ...optional({ narrow }), ...(await run(await workspace(), parsed.data, space)) }, space);
    },
  };
}

function badArguments(tool: string, error: z.ZodError): ChronicleError {
  return new ChronicleError("USAGE", `the arguments of ${tool} are not valid: ${complaint(error)}`, {
    hint: `the list of tools has the schema of ${tool}`,
  });
}

function complaint(error: z.ZodError): string {
  const parts = error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
  return shortened(parts.join("; "), MAX_COMPLAINT);
}
