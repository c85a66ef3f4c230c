import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel, ChannelEnd } from "../channel.ts";
import type { Message, MessageOf } from "../protocol/messages.ts";
import type { Timers } from "../../util/timers.ts";

/**
 * A conversation whose first message was read in advance, to see which workspace it is about. `receive` yields that
 * message again.
 */
export class BegunChannel implements Channel {
  readonly #channel: Channel;
  readonly #first: Message;
  readonly #rest: AsyncIterator<Message>;

  private constructor(channel: Channel, first: Message, rest: AsyncIterator<Message>) {
    this.#channel = channel;
    this.#first = first;
    this.#rest = rest;
  }

  /**
   * Waits for `Hello`, and sets its workspace to the one that `meant` finds for it. Throws `USAGE` if another message
   * comes first, `UNAVAILABLE` after `withinMs` or if nothing comes, what `meant` throws, and the channel's own errors.
   */
  static async begin(channel: Channel, { meant, timers, withinMs }: Beginning): Promise<BegunChannel> {
    const rest = channel.receive()[Symbol.asyncIterator]();
    const hello = await firstOf(channel, rest, { timers, withinMs });
    return new BegunChannel(channel, { ...hello, workspace: await meant(hello) }, rest);
  }

  send(message: Message): Promise<void> {
    return this.#channel.send(message);
  }

  async *receive(): AsyncGenerator<Message, void> {
    const first = this.#first;
    yield first;
    try {
      for (let next = await this.#rest.next(); next.done !== true; next = await this.#rest.next()) yield next.value;
    } finally {
      await this.#rest.return?.();
    }
  }

  get arrived(): number {
    return this.#channel.arrived;
  }

  get pendingBytes(): number {
    return this.#channel.pendingBytes;
  }

  get ended(): Promise<ChannelEnd> {
    return this.#channel.ended;
  }

  close(reason?: ChronicleError): void {
    this.#channel.close(reason);
  }
}

interface Patience {
  readonly timers: Timers;
  readonly withinMs: number;
}

interface Beginning extends Patience {
  /** Returns the id of the workspace that a replica asks for. */
  readonly meant: (hello: MessageOf<"Hello">) => Promise<string>;
}

async function firstOf(
  channel: Channel,
  rest: AsyncIterator<Message>,
  { timers, withinMs }: Patience,
): Promise<MessageOf<"Hello">> {
  using _late = timers.after(withinMs, () => channel.close(new ChronicleError("UNAVAILABLE", "no Hello came")));
  const first = await rest.next();
  if (first.done === true) throw new ChronicleError("UNAVAILABLE", "the connection ended before Hello");
  if (first.value.type === "Hello") return first.value;
  throw new ChronicleError("USAGE", `${first.value.type} came before Hello`);
}
