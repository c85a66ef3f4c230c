import type { ServerRoute } from "../server/answers/server-route.ts";
import { COMMAND_PATH, type CommandAnswer, type CommandCall, encodeAnswer } from "./command-call.ts";

/** The maximum size of a call, in bytes: arguments and environment may have 2 MiB together (execve(2)). */
const MAX_BODY = 8 * 1024 ** 2;

interface CommandEndpointOptions {
  readonly version: string;
  /** The program that this process runs, when it was started. */
  readonly program: string;
  readonly perform: (call: CommandCall) => Promise<CommandAnswer>;
}

/**
 * Returns the route by which a command line asks this process to carry out a command. A command line of another version
 * or program does the command itself.
 */
export function commandRoute({ version, program, perform }: CommandEndpointOptions): ServerRoute {
  return {
    method: "POST",
    path: COMMAND_PATH,
    maxBody: MAX_BODY,
    handle: async ({ headers, body }) => {
      const call = JSON.parse(body.toString("utf8")) as CommandCall;
      const isSame = headers["x-chronicle-version"] === version && call.program === program;
      const answer: CommandAnswer = isSame ? await perform(call) : { direct: "another program" };
      const headersOf = { "content-type": "application/octet-stream", connection: "close" };
      return { status: 200, headers: headersOf, body: encodeAnswer(answer) };
    },
  };
}
