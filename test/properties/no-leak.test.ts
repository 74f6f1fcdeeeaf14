/** The law of no leak, and its negative controls. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { VaultError } from '../../src/index.ts'
import { leaksOf, noLeak } from '../laws/no-leak.ts'
import { callerOf } from '../support/audit/audited-clients.ts'
import { overHttp } from '../support/http/leak-transport.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { createCanaries } from '../support/leaks/canaries.ts'
import { faultsOf } from '../support/leaks/expectations.ts'
import type { FixtureOptions } from '../support/leaks/fixture.ts'
import { requestText, textOf } from '../support/leaks/known-values.ts'
import { readModel, spelt } from '../support/leaks/model.ts'
import { createOracle } from '../support/leaks/oracle.ts'
import { type LeakColumn, type LeakTable, schemaOf } from '../support/leaks/schemas.ts'
import { CONDITIONS, type RandomPolicy } from '../support/policies/random-policies.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import { asLoose, type Cells, type LooseRecord, type LooseStored, openLoose } from '../support/vaults/open-untyped.ts'

itHolds(noLeak)

/** Runs vaults up to the first that leaks. Returns its leaks. */
async function firstFaults(vaults: number, name: string, options: FixtureOptions): Promise<string[]> {
  for (let vault = 0; vault < vaults; vault++) {
    const faults = await leaksOf(randomFor(`${name} ${vault}`), 40, { storage: memoryStorage(), others: () => '' }, options)
    if (faults.length > 0) return faults
  }
  return []
}

describe('the leak check detects', () => {
  const BROKEN: readonly (readonly [fault: string, options: FixtureOptions, found: RegExp])[] = [
    [
      'a value that an error repeats',
      {
        layer: (send) => (request) =>
          send(request).catch((error: unknown) => {
            const { message } = error as Error // A session throws errors only; the property checks that.
            throw new VaultError('unprocessable', `${message} It was ${requestText(request)}.`)
          }),
      },
      /the error holds a canary/,
    ],
    [
      'a value in the details of an error, in base64',
      {
        layer: (send) => (request) =>
          send(request).catch(() => {
            throw new VaultError('unprocessable', 'Wrong.', { column: Buffer.from(requestText(request)).toString('base64') })
          }),
      },
      /the error holds a canary/,
    ],
    [
      'a host that puts a value into what events record of the request',
      { host: (caller, secret) => ({ ...caller, request: { clientTraceID: secret } }) },
      /the audit trail holds a canary/,
    ],
    [
      'a host that puts a value into the trace id of log lines',
      { host: (caller, secret) => ({ ...caller, request: { requestID: secret } }) },
      /lines of the log, spans or errors hold a canary/,
    ],
    [
      'returns the requested level instead of the lower of both',
      {
        layer: (send, owner) => (request) =>
          request.method.startsWith('get') ? send(request).then(() => owner(request)) : send(request),
      },
      /fields of .* should be|canaries hidden from the caller|invisible to the caller|hidden column/,
    ],
    [
      'masked fields that say nothing of their level',
      {
        layer: (send) => async (request) =>
          JSON.parse(JSON.stringify(await send(request)), (key, part: unknown) => (key === 'levels' ? {} : part)),
      },
      /levels of .* are \{\} and should be/,
    ],
    [
      'tokens resolved at the level asked',
      {
        layer: (send, owner) => (request) =>
          request.method === 'detokenize' ? send(request).then(() => owner(request)) : send(request),
      },
      /is shown as .* and may only be|canaries hidden from the caller/,
    ],
    [
      'a value in a header of an answer',
      {
        transport: overHttp((response) => {
          const trace = encodeURIComponent(String(response.body).slice(0, 2000))
          return { ...response, headers: { ...response.headers, 'x-trace': trace } }
        }),
      },
      /lines of the log, spans or errors hold a canary/,
    ],
    [
      'the URL of a request in an error',
      {
        transport: overHttp((response, { target }) => {
          const text = String(response.body).replace('failed.', JSON.stringify(decodeURIComponent(target)).slice(1, -1))
          return response.status < 400 ? response : { ...response, body: text }
        }),
      },
      /the error holds a canary/,
    ],
  ]

  for (const [fault, options, found] of BROKEN) {
    it(fault, async () => {
      expect(await firstFaults(20, fault, options)).toContainEqual(expect.stringMatching(found))
    })
  }
})

describe('the leak check of tokens', () => {
  const READER: RandomPolicy = {
    clerk: [
      { effect: 'ALLOW', actions: ['READ', 'DETOKENIZATION'], on: ['notes.*'], redaction: 'PLAIN_TEXT', where: 'grade > 4' },
    ],
  }
  const KIN = { type: 'STRING', redaction: 'PLAIN_TEXT', token: 'deterministic', columnGroup: 'kin' } as const
  const COLUMNS: readonly LeakColumn[] = [
    { name: 'grade', form: 'INTEGER', definition: { type: 'INTEGER', redaction: 'PLAIN_TEXT' } },
    { name: 'json', form: 'JSON', definition: { type: 'JSON', redaction: 'PLAIN_TEXT', token: 'random' } },
    { name: 'hidden', form: 'STRING', definition: { type: 'STRING', redaction: 'REDACTED', token: 'random' } },
    { name: 'same', form: 'STRING', definition: KIN },
    { name: 'kin', form: 'STRING', definition: KIN },
  ]
  const TABLE: LeakTable = { name: 'notes', secrets: COLUMNS.slice(1), columns: COLUMNS }

  interface Detokenized {
    readonly records: readonly LooseRecord[]
    /** The tokens of the stored records that the clerk detokenizes. */
    tokensOf(stored: readonly LooseStored[]): readonly (string | undefined)[]
    readonly options?: Cells
    /** What a broken vault would return in place of an item. */
    change?(item: object): object
  }

  /** What the check finds in the values of tokens that a clerk is shown. */
  async function faultsOfTokens({ records, tokensOf, options = {}, change = (item) => item }: Detokenized): Promise<string[]> {
    const { vault, session } = await openLoose(memoryStorage(), schemaOf([TABLE]), { policy: READER })
    const { records: stored } = await session.insert('notes', records, { tokenization: true, byot: 'ENABLE' })
    const parameters = tokensOf(stored).map((token) => ({ token }))
    const clerk = callerOf('clerk')
    const answer = await asLoose(vault.as(clerk)).detokenize(parameters, { continueOnError: true })
    const expected = { model: await readModel(session, [TABLE]), oracle: createOracle(READER, clerk) }
    return faultsOf({ method: 'detokenize', args: [parameters, options] }, { records: answer.records.map(change) }, expected)
  }

  it('allows a JSON text in its quotes', async () => {
    const values = ['Ann', '*REDACTED*', '1', 1, true, ['Ann'], { Ann: 'Bo' }, '"']
    const records = values.map((json) => ({ fields: { grade: 5, json } }))
    const tokensOf = (stored: readonly LooseStored[]) => stored.map(({ tokens }) => tokens.json)
    expect(await faultsOfTokens({ records, tokensOf })).toEqual([])
  })

  it('allows the shared token of a value in a cell that has a supplied one', async () => {
    const records = [{ fields: { grade: 1, same: 'Ann' } }, { fields: { grade: 5, kin: 'Ann' }, tokens: { kin: 'tok 1' } }]
    const tokensOf = ([one, two]: readonly LooseStored[]) => [one?.tokens.same, two?.tokens.kin]
    expect(await faultsOfTokens({ records, tokensOf })).toEqual([])
  })

  it('detects a supplied token that shows an equal value of another cell', async () => {
    const records = [{ fields: { grade: 1, same: 'Ann' }, tokens: { same: 'tok 1' } }, { fields: { grade: 5, kin: 'Ann' } }]
    const tokensOf = ([one, two]: readonly LooseStored[]) => [one?.tokens.same, two?.tokens.kin]
    expect(await faultsOfTokens({ records, tokensOf })).toEqual([])
    const change = (item: object) => ('error' in item ? { token: 'tok 1', valueType: 'STRING', value: 'Ann' } : item)
    expect(await faultsOfTokens({ records, tokensOf, change })).toEqual([expect.stringMatching(/^token 0 is shown as/)])
  })

  const CHANGED: Readonly<Record<string, (item: object) => object>> = {
    'another value': (item) => ({ ...item, value: 'Ann' }),
    'another type': (item) => ({ ...item, valueType: 'ARRAY' }),
    'no level of a redacted value': (item) => Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'level')),
    'a level of a value in plain text': (item) => ({ ...item, level: 'MASKED' }),
    'one more member': (item) => ({ ...item, id: '1' }),
  }
  const records = [{ fields: { grade: 5, json: '*REDACTED*', hidden: 'Bo' } }]
  const tokensOf = ([one]: readonly LooseStored[]) => [one?.tokens.json, one?.tokens.hidden]
  it.each(Object.entries(CHANGED))('detects %s', async (_, change) => {
    expect(await faultsOfTokens({ records, tokensOf })).toEqual([])
    const found = await faultsOfTokens({ records, tokensOf, change })
    expect(found).toContainEqual(expect.stringMatching(/is shown as .* and may only be/))
  })

  it('detects a redacted value that had to be refused', async () => {
    const found = await faultsOfTokens({ records, tokensOf, options: { onLowered: 'throw' } })
    expect(found).toEqual(['token 1 is lowered, and the call is not refused'])
  })
})

describe('the leak check reads', () => {
  it('a request with a BigInt, which JSON cannot write', () => {
    expect(spelt([10n ** 30n, { grade: 1n }])).toBe(`["${10n ** 30n}",{"grade":"1"}]`)
    expect(textOf(10n ** 30n)).toBe(`"${10n ** 30n}"`)
  })

  it('a 64-bit integer in a condition, which an answer writes as text', () => {
    const grades = ['9223372036854775807', 5, 4, '-9223372036854775808', null, undefined]
    const outcomes = (condition: string) => grades.map((grade) => CONDITIONS[condition]?.({ region: 'south', grade }, {}))
    expect(outcomes('grade > 4')).toEqual([true, true, false, false, undefined, undefined])
    expect(outcomes("region = 'east' OR grade < 3")).toEqual([false, false, false, true, undefined, undefined])
  })
})

describe('the search for canaries', () => {
  const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
    'as it is': (text) => text,
    'in upper case': (text) => text.toUpperCase(),
    backwards: (text) => [...text].reverse().join(''),
    'in base64': (text) => Buffer.from(`x${text}`).toString('base64'),
    'in base64url': (text) => Buffer.from(`{"${text}`).toString('base64url'),
    'in hexadecimal': (text) => Buffer.from(text).toString('hex'),
    'in upper hexadecimal': (text) => Buffer.from(text).toString('hex').toUpperCase(),
    'encoded for a URL': (text) => encodeURIComponent(text),
    'escaped in JSON': (text) => JSON.stringify(JSON.stringify(text)),
    truncated: (text) => text.slice(0, 13),
    'in UTF-16': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
    'in UTF-16 of the other order': (text) => Buffer.from(text, 'utf16le').swap16().toString('latin1'),
  }

  for (const [encoding, wear] of Object.entries(ENCODINGS)) {
    it(`finds a canary ${encoding}`, () => {
      const canaries = createCanaries(randomFor(encoding))
      for (const form of ['STRING', 'EMAIL', 'CARD', 'INTEGER', 'FLOAT', 'DATE', 'TIME', 'DATETIME'] as const) {
        const { value, id } = canaries.make(form)
        const text = `${form}: ${wear(String(value))}…`
        if (form === 'DATETIME' && encoding === 'truncated') continue // A day alone is a value of another column.
        expect([...canaries.findIn(text)], text).toEqual([id])
      }
    })
  }

  it('finds nothing in bytes without a canary', () => {
    const canaries = createCanaries(randomFor('nothing'))
    for (let count = 0; count < 100; count++) for (const form of ['STRING', 'INTEGER', 'DATE'] as const) canaries.make(form)
    const random = randomFor('noise')
    const noise = Buffer.from(random.bytes(200_000))
    expect(canaries.findIn(`${noise.toString('hex')} ${noise.toString('base64')} ${noise.toString('latin1')}`).size).toBe(0)
  })
})
