import { expect, test } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import type { BlobPlace } from "../blob-index.ts";
import { RecentPlaces } from "./sqlite-blob-index.ts";

const placeAt = (at: number): BlobPlace => ({ kind: "large", packed: false, length: at, stored: at });

test("a published place is known until another connection changes the index, or the places are forgotten", () => {
  const places = new RecentPlaces();
  const hash = sha256(Buffer.from("a"));
  places.look(1);
  places.put(hash, placeAt(1));
  places.look(1);
  expect(places.get(hash)).toEqual(placeAt(1));
  places.look(2);
  expect(places.get(hash)).toBeUndefined();
  places.put(hash, placeAt(2));
  places.forget();
  expect(places.get(hash)).toBeUndefined();
});
