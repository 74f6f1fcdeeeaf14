/** The recorded input of an operation: every member that the operation reads, and each getter once. */
import { expect, it } from 'vitest'
import { recordedInput } from '../../../src/core/execution/event-builder.ts'
import { EMPTY_CATALOG_SCHEMA } from '../../../src/core/schema/catalog-schema.ts'
import { layoutSchema } from '../../../src/core/schema/layout.ts'

const operation = { recorded: { table: 'name', ids: 'value', limit: 'number', offset: 'number' } } as const
const session = { layout: { ...layoutSchema(EMPTY_CATALOG_SCHEMA), names: new Set(['people']) } }
const recorded = (given: object): string => recordedInput(session, operation, given)

it('records options that the input inherits, as the operation reads them', () => {
  const withOptions = class {
    get options(): object {
      return { limit: 3 }
    }
  }
  const input = Object.assign(new withOptions(), { table: 'people', ids: ['a'] })
  expect(recorded(input)).toBe('{"table":"people","ids":["*REDACTED*"],"limit":3}')
  expect(recorded(Object.assign(Object.create({ options: { limit: 3 } }), { table: 'people' }))).toBe(
    '{"table":"people","limit":3}',
  )
})

it('records its own options in place of those it inherits', () => {
  const inherited = { options: { limit: 3 } }
  const own = (options: unknown): object => Object.create(inherited, { options: { value: options, enumerable: true } })
  expect(recorded(own({ offset: 4 }))).toBe('{"offset":4}')
  expect(recorded(own(undefined))).toBe('{}')
})

it('reads each getter of the input once', () => {
  const reads: string[] = []
  const reading = (name: string, value: unknown): PropertyDescriptor => ({
    enumerable: true,
    get: () => {
      reads.push(name)
      return value
    },
  })
  const options = Object.create(null, { limit: reading('limit', 3), table: reading('table of options', 'pets') })
  const input = Object.create(null, { table: reading('table', 'people'), options: reading('options', options) })
  expect(recorded(input)).toBe('{"table":"people","limit":3}')
  expect(reads.toSorted()).toEqual(['limit', 'options', 'table', 'table of options'])
})

it('records nothing of an input with a getter that throws', () => {
  const throwing = {
    get options(): never {
      throw new Error('a value')
    },
  }
  expect(recorded(throwing)).toBe('')
  expect(recorded(Object.create(throwing))).toBe('')
})
