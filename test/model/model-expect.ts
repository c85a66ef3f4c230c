import { expect } from "vitest";

/** What a model found, to be held to what must be; a text says what it is. */
export const found = expect;
