/** How far apart the calls of a storage are before which a test ends its process. KILL_EVERY=1 in the environment takes each of them. */
import type { EngineName } from '../storages/places.ts'

/** Of `usual`, by engine. What is above the port of the storage is the same on each, so the slower ones take fewer. */
export function killEvery(engine: EngineName, usual: Readonly<Record<EngineName, number>>): number {
  return Number(process.env.KILL_EVERY ?? usual[engine])
}
