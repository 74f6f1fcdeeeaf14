/** The law of non-interference, its negative controls, and minimal cases of earlier failures. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { TableDefinition } from '../../src/core/schema/column.ts'
import { type Caller, column } from '../../src/index.ts'
import { comparePair, nonInterference } from '../laws/non-interference.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import type { LeakRequest } from '../support/leaks/known-values.ts'
import { outcomeOf, type PairedVaultOptions } from '../support/leaks/paired-vaults.ts'
import { senderOf } from '../support/leaks/send.ts'
import { sharedEntropy } from '../support/random/shared-entropy.ts'
import { type Cells, type LooseStored, openLoose } from '../support/vaults/open-untyped.ts'
import { STOPPED_TIMER } from '../support/vaults/system-ports.ts'

itHolds(nonInterference)

it('a pair differs in more than one place on average', async () => {
  const pairs = await Promise.all(Array.from({ length: 15 }, (_, pair) => comparePair(`places ${pair}`)))
  const differing = pairs.filter((pair) => pair !== undefined)
  expect(differing.reduce((sum, { differences }) => sum + differences, 0)).toBeGreaterThan(differing.length)
})

/** Pairs of a negative control at most. */
const PAIRS = 1000

/** Compares pairs up to the first difference; undefined if there is none. */
async function firstDifference(first: number, name: string, options: PairedVaultOptions): Promise<string | undefined> {
  for (let pair = first; pair < first + PAIRS; pair++) {
    const compared = await comparePair(`${name} ${pair}`, options)
    if (compared?.difference !== undefined) return compared.difference
  }
  return undefined
}

describe('the comparison of paired vaults detects', () => {
  const everything = { on: ['*'], effect: 'ALLOW' } as const
  /** Faults that few pairs show begin with a pair shortly before one of these. */
  const BROKEN: readonly (readonly [fault: string, options: PairedVaultOptions, first?: number])[] = [
    ['filters on values that are masked only afterwards', { granted: [{ ...everything, actions: ['SEARCH'] }] }, 70],
    ['tokenize for values without a grant', { granted: [{ ...everything, actions: ['TOKENIZATION'] }] }, 440],
    [
      'returns the requested level instead of the lower of both',
      {
        layer: (send, owner) => (request) =>
          request.method.startsWith('get') ? send(request).then(() => owner(request)) : send(request),
      },
    ],
    [
      'a page that reveals the number of all records',
      {
        layer: (send, owner) => async (request) => {
          const answer = await send(request)
          const [table] = request.args
          if (request.method !== 'get' || typeof table !== 'string') return answer
          return { answer, all: await owner({ method: 'get', args: [table, { limit: 1000, redaction: 'REDACTED' }] }) }
        },
      },
    ],
    [
      'a refusal that reveals whether the value exists',
      {
        layer: (send, owner) => (request) =>
          send(request).catch(async (error: unknown) => {
            const held = await owner(request).catch(() => undefined)
            throw held === undefined ? error : new Error(`Refused, though it would have been ${JSON.stringify(held)}.`)
          }),
      },
    ],
  ]

  for (const [fault, options, first = 0] of BROKEN) {
    it(fault, async () => {
      expect(await firstDifference(first, fault, options)).toBeDefined()
    })
  }
})

/** A minimal case of an earlier failure: one request of a clerk, in two vaults that differ in records hidden from the clerk. */
interface SmallCase {
  readonly table: TableDefinition
  readonly policy: readonly string[]
  readonly left: readonly Cells[]
  readonly right: readonly Cells[]
  /** The request, made from ids and tokens of the stored records of the same vault, and of the left one. */
  request(stored: readonly LooseStored[], ofLeft: readonly LooseStored[]): LeakRequest
}

async function outcomesOf({ table, policy, left, right, request }: SmallCase): Promise<string[]> {
  const caller: Caller = { actor: 'clerk@acme.example', actorType: 'USER', roles: ['clerk'] }
  const outcomes: string[] = []
  let ofLeft: readonly LooseStored[] | undefined
  for (const records of [left, right]) {
    const entropy = sharedEntropy('small')
    const opened = await openLoose(
      memoryStorage(),
      { cards: table },
      { policy: { clerk: policy }, entropy, timer: STOPPED_TIMER },
    )
    entropy.begin(1)
    const { records: stored } = await opened.session.insert(
      'cards',
      records.map((fields) => ({ fields })),
      { tokenization: true },
    )
    ofLeft ??= stored
    entropy.begin(2)
    outcomes.push(await outcomeOf(senderOf(opened.vault, opened.vault.as(caller), caller), request(stored, ofLeft)))
  }
  return outcomes
}

describe('a write of a masked form', () => {
  const table = { name: column.string({ redaction: 'MASKED', mask: { preset: 'keepFirst', count: 1 } }) }
  /** The outcomes of a write of `A**` over `Ann` and over another name. */
  const outcomesOver = (name: string, level: string) =>
    outcomesOf({
      table,
      policy: [
        'ALLOW UPDATE ON cards.name',
        ...(level === 'hidden' ? [] : [`ALLOW READ ON cards.name WITH REDACTION = ${level}`]),
      ],
      left: [{ name: 'Ann' }],
      right: [{ name }],
      request: ([first]) => ({ method: 'updateOne', args: ['cards', first?.id, { name: 'A**' }] }),
    })

  it.each(['hidden', 'REDACTED'])('has one outcome over any value that is %s: the text alone is refused', async (level) => {
    const [left, right] = await outcomesOver('Bob', level)
    expect(left).toBe(right)
    expect(left).toContain('unprocessable')
  })

  it('has one outcome over any value of that form, also over the form itself', async () => {
    for (const name of ['Abe', 'A**']) {
      const [left, right] = await outcomesOver(name, 'MASKED')
      expect(left).toBe(right)
      expect(left).toContain('unprocessable')
    }
  })

  it('has two outcomes for a caller who is shown both forms', async () => {
    const [left, right] = await outcomesOver('Bob', 'MASKED')
    expect(left).not.toBe(right)
  })
})

describe('earlier failures', () => {
  const name = column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' })
  const region = column.string({ encrypted: false })
  const north = ["ALLOW READ, DETOKENIZATION ON cards.* WHERE region = 'north'"]
  /** A hidden row before a visible one. Only in the left vault both hold the same value. */
  const hiddenBefore = {
    table: { name, region },
    policy: north,
    left: [
      { name: 'Ann', region: 'south' },
      { name: 'Ann', region: 'north' },
    ],
    right: [
      { name: 'Bob', region: 'south' },
      { name: 'Ann', region: 'north' },
    ],
  }
  const ofLast = (stored: readonly LooseStored[]) => stored.at(-1)?.tokens.name ?? ''

  it('resolve a token of a visible row alike when an earlier hidden row holds the same value', async () => {
    const [left, right] = await outcomesOf({
      ...hiddenBefore,
      request: (stored) => ({ method: 'detokenize', args: [[{ token: ofLast(stored) }]] }),
    })
    expect(left).toBe(right)
  })

  it('resolve it alike in getByTokens', async () => {
    const [left, right] = await outcomesOf({
      ...hiddenBefore,
      request: (stored) => ({ method: 'getByTokens', args: [[ofLast(stored)]] }),
    })
    expect(left).toBe(right)
  })

  it('resolve it alike when a hidden column of the group holds the value', async () => {
    const kin = column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT', columnGroup: 'kin' })
    const [left, right] = await outcomesOf({
      table: { alias: kin, name: kin },
      policy: ['ALLOW READ, DETOKENIZATION ON cards.name'],
      left: [
        { alias: 'Ann', name: 'Cy' },
        { alias: 'Di', name: 'Ann' },
      ],
      right: [
        { alias: 'Bob', name: 'Cy' },
        { alias: 'Di', name: 'Ann' },
      ],
      request: (stored) => ({ method: 'detokenize', args: [[{ token: ofLast(stored) }]] }),
    })
    expect(left).toBe(right)
  })

  it('return a format-preserving stable token alike when the caller overwrites a hidden value', async () => {
    const format = { preset: 'card', keepFirst: 4 } as const
    const [left, right] = await outcomesOf({
      table: { number: column.string({ token: { kind: 'formatPreserving', format, stable: true } }) },
      policy: ['ALLOW UPDATE ON cards.number'],
      left: [{ number: '4111111111111111' }],
      right: [{ number: '5555555555554444' }],
      request: ([first]) => ({
        method: 'updateOne',
        args: ['cards', first?.id, { number: '4012888888881881' }, { tokenization: true }],
      }),
    })
    expect(left).toBe(right)
  })

  const DERIVED = [
    ['deterministic', 'deterministic'],
    ['deterministic format-preserving', { kind: 'deterministicFormatPreserving', format: { preset: 'card', keepFirst: 4 } }],
  ] as const

  it.each(DERIVED)('refuse a supplied text alike when it is the %s token of a hidden value in one vault', async (_, token) => {
    const [left, right] = await outcomesOf({
      table: { number: column.string({ token }), note: column.string({ token: 'random' }) },
      policy: ['ALLOW CREATE ON cards.note'],
      left: [{ number: '4111111111111111' }],
      right: [{ number: '5555555555554444' }],
      request: (_, [first]) => ({
        method: 'insert',
        args: ['cards', [{ fields: { note: 'mine' }, tokens: { note: first?.tokens.number } }], { byot: 'ENABLE' }],
      }),
    })
    expect(left).toBe(right)
    expect(left).toContain('unprocessable')
  })
})
