/** Makes requests invalid: one value in them is replaced, or moved to another name. */

import type { SeededRandom } from '../random/seeded-random.ts'
import type { LeakRequest } from './known-values.ts'

/** The request with one leaf, member or argument replaced, often by a value that belongs elsewhere. */
export function makeInvalid(random: SeededRandom, request: LeakRequest, value: unknown): LeakRequest {
  const poison = random.pick<unknown>([
    value,
    value,
    [value],
    { value },
    { [String(value)]: value },
    1.5,
    Number.NaN,
    -1,
    null,
    undefined,
    true,
    '',
    '*',
    '__proto__',
    `${String(value)}`.repeat(40),
    new Map([[value, value]]),
    10n ** 30n,
  ])
  const { args } = request
  return { method: request.method, args: asList(invalidPart(random, args, poison, String(value))) }
}

function asList(args: unknown): readonly unknown[] {
  return Array.isArray(args) ? args : [args]
}

/** Descends at random and replaces the part where it stops. */
function invalidPart(random: SeededRandom, part: unknown, poison: unknown, name: string): unknown {
  if (typeof part !== 'object' || part === null) return poison
  if (Array.isArray(part)) {
    if (part.length === 0) return poison
    const at = random.below(part.length)
    return part.map((item, index) => (index === at ? invalidPart(random, item, poison, name) : item))
  }
  const members = Object.entries(part)
  if (members.length === 0 || random.chance(0.2)) return { ...part, [name]: poison }
  const [chosen] = random.pick(members)
  return Object.fromEntries(members.map(([key, item]) => [key, key === chosen ? invalidPart(random, item, poison, name) : item]))
}
