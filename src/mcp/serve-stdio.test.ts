import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { serverParts } from "../../test/helpers/mcp-project.ts";
import { Project } from "../../test/helpers/project.ts";
import { MAX_MESSAGE_BYTES, serveStdio } from "./serve-stdio.ts";

interface Answered {
  readonly answers: readonly (readonly [id: string | number, code: number])[];
  readonly reports: readonly string[];
}

/**
 * Sends `text` as the whole input of a server. Returns the id and the code of each error that the server answers, and
 * the server's reports.
 */
async function refusalsOf(text: string): Promise<Answered> {
  await using project = new Project();
  const { parts, reports } = serverParts(project);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = serveStdio(parts, input, output);
  input.end(text);
  await server.done;
  output.end();
  const lines = (await output.toArray()).join("").trimEnd().split("\n");
  const messages = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as RefusedMessage);
  return { answers: messages.map(({ id, error }) => [id, error.code]), reports };
}

interface RefusedMessage {
  readonly id: string | number;
  readonly error: { readonly code: number };
}

const LONG = "x".repeat(MAX_MESSAGE_BYTES);

test.each([
  ["first", `{"jsonrpc":"2.0","id":"é1","method":"m","params":{"a":"${LONG}"}}`],
  ["behind the method", `{"method":"m","id":"é1","params":{"a":"${LONG}"}}`],
  ["last", `{"method":"m","params":{"a":"${LONG}"},"jsonrpc":"2.0","id":"é1"}`],
])("a message that is too long is refused with its id, which is %s", async (_, line) => {
  expect((await refusalsOf(`${line}\n`)).answers).toEqual([["é1", -32_600]]);
});

test("the id of an argument is not taken for the id of a message that is too long", async () => {
  const { answers, reports } = await refusalsOf(`{"method":"m","params":{"id":5,"a":"${LONG}"}}\n`);
  expect([answers, reports.length]).toEqual([[], 1]);
});

test.each([
  ["cut off within an argument", '{"method":"tools/call","params":{"a":{"id":5}', []],
  ["cut off within a text", '{"method":"tools/call","params":{"a":"{\\"id\\":5}', []],
  ["cut off within its id", '{"jsonrpc":"2.0","id":5', []],
  ["cut off behind its id", '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"a":{"id":6}', [[5, -32_700]]],
  ["with its id in the middle", `{"method":"m","a":"${"x".repeat(9_000)}","id":5,"b":[},"c":"id"`, [[5, -32_700]]],
  ["a list of messages", '[{"id":5,"method":12}', []],
  ["not an object", '"id":5,}', []],
])("a line that is not JSON is reported, and is answered only if its id is certain: %s", async (_, line, expected) => {
  const { answers, reports } = await refusalsOf(`${line}\n`);
  expect(answers).toEqual(expected);
  expect(reports.join("\n")).not.toBe("");
});

test("JSON that is not a message of JSON-RPC is an invalid request", async () => {
  const { answers } = await refusalsOf(
    '{"jsonrpc":"2.0","id":5,"method":12}\n{"method":"id","id":"a","jsonrpc":"1.0"}\n',
  );
  expect(answers).toEqual([
    [5, -32_600],
    ["a", -32_600],
  ]);
});
