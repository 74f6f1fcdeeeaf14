/** What an editor shows of inferred types: the columns of the schema, and not the types that compute them. */
import { describe, expect, it } from 'vitest'
import { openEditor } from '../support/compiler/editor.ts'

const text = `
import { column, createVault, defineSchema } from 'strongroom'
import { localKeys } from 'strongroom/keys'
import { memoryStorage } from 'strongroom/memory'

const schema = defineSchema({
  people: {
    name: column.string({ required: true, token: 'random' }),
    country: column.string({ oneOf: ['DE', 'FR'] }),
    visits: column.integer(),
    code: column.string({ token: 'transient' }),
  },
})
const vault = await createVault({
  id: 'v1',
  schema,
  storage: memoryStorage(),
  keys: localKeys({ file: 'vault.key' }),
  policy: { clerk: ['ALLOW READ ON people.*'] },
})
const session = vault.as({ actor: 'ann', actorType: 'USER', roles: ['clerk'] })
const { records } = await session.get('people')
export const page = await session.get('people', { tokenization: true })
for await (const next of session.pages('people', { resumable: true, fields: ['country'], onLowered: 'throw' })) next
export const shownFields = records[0]?.fields
export const plainFields = (await session.getOne('people', '1', { onLowered: 'throw', fields: ['name', 'country'] })).fields
export const view = await session.getOne('people', '1', { tokenization: true })
export const inserted = await session.insert('people', [{ fields: { name: 'Ann' } }], { tokenization: true })
export const updated = await session.updateOne('people', '1', { visits: 1 })
export const found = (await session.getByTokens(['t'])).records
export const { responses } = await session.batch([{ delete: 'people', id: '1' }])
export const shownName = shownFields?.name
export const change: Parameters<typeof session.updateOne<'people'>>[2] = {}
export const typo = vault.as({ actor: 'bob', actorType: 'USER', roles: ['clerc'] })
export const misread = await session.get('people', { fields: ['nam'] })
await session.batch([{ insert: 'peopl', fields: { name: 'Bob' } }])
`

const editor = openEditor(text)

const PEOPLE =
  '{ readonly people: { readonly name: ColumnOf<"STRING", { readonly required: true; readonly token: "random"; }>; ' +
  'readonly country: ColumnOf<"STRING", { readonly oneOf: readonly ["DE", "FR"]; }>; readonly visits: ColumnOf<"INTEGER", NoOptions>; ' +
  'readonly code: ColumnOf<"STRING", { readonly token: "transient"; }>; }; }'
const SHOWN =
  '{ readonly name?: ShownText; readonly country?: "DE" | "FR" | ShownText | null; readonly visits?: number | ShownText | null; }'
const TOKENS = '{ readonly name?: string; readonly code?: string; }'

const hovers: readonly (readonly [position: string, shows: string])[] = [
  ['schema = ', `const schema: Schema<${PEOPLE}>`],
  ['vault = ', `const vault: Vault<${PEOPLE}, "clerk">`],
  ['session = ', `const session: Session<${PEOPLE}>`],
  [
    'records } = ',
    `const records: { readonly id: string; readonly fields: ${SHOWN}; readonly levels: Levels<"name" | "country" | "visits">; }[]`,
  ],
  [
    'page = ',
    `const page: { readonly records: { readonly id: string; readonly fields: ${TOKENS}; readonly tokens: ${TOKENS}; }[]; readonly next?: string; }`,
  ],
  [
    'next of ',
    'const next: { readonly records: { readonly id: string; readonly fields: { readonly country: "DE" | "FR" | null; }; readonly levels: Levels<never>; }[]; readonly next: string; }',
  ],
  ['shownFields = ', `const shownFields: ${SHOWN} | undefined`],
  ['plainFields = ', 'const plainFields: { readonly name: string; readonly country: "DE" | "FR" | null; }'],
  ['view = ', `const view: { readonly id: string; readonly fields: ${TOKENS}; readonly tokens: ${TOKENS}; }`],
  ['inserted = ', `const inserted: { records: { readonly id: string; readonly tokens: ${TOKENS}; }[]; }`],
  ['updated = ', 'const updated: { readonly id: string; } & { readonly updatedAt: string; }'],
  ['shownName = ', 'const shownName: ShownText | undefined'],
  [
    'responses } = ',
    'const responses: readonly [{ readonly ok: true; readonly value: { readonly id: string; readonly deleted: true; }; }]',
  ],
  [
    'change: ',
    'const change: { readonly name?: PlainText; readonly country?: "DE" | "FR" | null; readonly visits?: number | bigint | PlainText | null; readonly code?: PlainText | null; }',
  ],
]

describe('a hover', () => {
  it.each(hovers)('over "%s" shows columns and options', (position, shows) => {
    expect(editor.hover(position)).toBe(shows)
  })

  it('over records found by tokens names no computation', () => {
    expect(editor.hover('found = ')).toMatch(
      /^const found: \(FailedToken \| \{ readonly token: string; .*fields: \{ readonly name\?: ShownText; /,
    )
  })
})

describe('completions and errors', () => {
  it('offer the roles of the policy and those of every vault', () => {
    expect(editor.completions("roles: ['clerc']")).toEqual(['clerk', 'VAULT_OWNER', 'VAULT_EDITOR', 'VAULT_VIEWER'])
  })

  it('offer the columns of the table, and the tables of a batch', () => {
    expect(editor.completions("fields: ['nam']")).toEqual(['name', 'country', 'visits', 'code'])
    expect(editor.completions("insert: 'peopl'")).toEqual(['people'])
  })

  it('name the values that are possible', () => {
    expect(editor.errors()).toEqual([
      expect.stringContaining(`Type '"clerc"' is not assignable to type '"clerk" | BuiltInRole'. Did you mean '"clerk"'?`),
      expect.stringContaining(`Type '"nam"' is not assignable to type '"name" | "country" | "visits" | "code"'`),
      expect.stringContaining(`Type '"peopl"' is not assignable to type '"people"'`),
    ])
  })
})
