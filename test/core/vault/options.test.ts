/** Tests of the checks of the options of a vault. */
import { describe, expect, it } from 'vitest'
import { systemClock, systemEntropy } from '../../../src/adapters/system/system.ts'
import { parseOptions } from '../../../src/core/vault/options.ts'

const VALID = {
  id: 'v',
  schema: { tables: {} },
  storage: { joinTransaction: () => undefined },
  keys: { unwrap: () => undefined },
  clock: systemClock,
  entropy: systemEntropy,
}

describe('parseOptions', () => {
  it('returns the default limits', () => {
    expect(parseOptions(VALID)).toEqual({
      maxRecords: 1000,
      maxPageSize: 1000,
      maxJsonMembers: 10_000,
      maxQueryRecords: 25,
      maxQueryLength: 16_384,
      maxQueryLexemes: 4000,
      maxQueryNesting: 64,
      maxQueryTables: 8,
      queryExtensions: true,
      maxRowsRead: 1_000_000,
      queryTimeoutMs: 30_000,
      maxQueryBytes: 268_435_456,
    })
  })

  it.each([
    [{ entropy: {} }, 'option "entropy" must have a method bytes(count) that returns a Uint8Array.'],
    [{ clock: {} }, 'option "clock" must have a method now() that returns nanoseconds as a bigint.'],
    [{ keys: undefined }, 'option "keys" must be a key provider, such as localKeys({ … }).'],
    [{ schema: { customers: {} } }, 'option "schema" must be the result of defineSchema.'],
    [{ id: '' }, 'option "id" must be a string of 1 to 128 characters.'],
    [{ audit: true }, "option \"audit\" must be 'on' or 'off'."],
    [{ limits: { maxRecords: 0 } }, 'option "limits.maxRecords" must be an integer from 1 to 1000000.'],
    [{ limits: { maxQueryRecords: 1_000_001 } }, 'option "limits.maxQueryRecords" must be an integer from 1 to 1000000.'],
    [{ limits: { maxQueryNesting: 257 } }, 'option "limits.maxQueryNesting" must be an integer from 1 to 256.'],
    [{ limits: { queryExtensions: 'no' } }, 'option "limits.queryExtensions" must be true or false.'],
    [{ limits: { maxQueryTables: 1.5 } }, 'option "limits.maxQueryTables" must be an integer from 1 to 64.'],
    [{ limits: { queryTimeoutMs: '5' } }, 'option "limits.queryTimeoutMs" must be an integer from 1 to 2147483647.'],
  ])('names the invalid option of %o', (options, problem) => {
    expect(() => parseOptions({ ...VALID, ...options })).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: `Cannot open the vault: ${problem}` }),
    )
  })

  it('rejects options that are not an object', () => {
    expect(() => parseOptions(undefined)).toThrow('Cannot open the vault: the options must be an object.')
  })

  it('quotes no name of a class, which the value itself can set', () => {
    const limits: unknown = Object.create({ constructor: { name: 'secret' } })
    expect(() => parseOptions({ ...VALID, limits: [] })).toThrow('Cannot open the vault: option "limits" must be an object.')
    expect(parseOptions({ ...VALID, limits: {} }).maxPageSize).toBe(1000)
    for (const given of [{ maxPageSize: limits }, limits]) {
      try {
        parseOptions({ ...VALID, limits: given })
      } catch (error) {
        expect(String(error)).not.toContain('secret')
      }
    }
  })
})
