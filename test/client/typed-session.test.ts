/** The types of a session over HTTP: those of the schema, which is imported as a type only. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { connectVault, type RemoteSession, VaultError } from '../../src/client/index.ts'
import { column, defineSchema, type Session, VaultError as VaultErrorOfLibrary } from '../../src/index.ts'

const schema = defineSchema({
  people: {
    name: column.string({ required: true, token: 'random' }),
    email: column.string({ unique: true, token: 'deterministic' }),
    age: column.integer(),
    photo: column.file({}),
  },
})
type Tables = (typeof schema)['tables']

const session = connectVault<typeof schema>({ url: 'http://localhost:1', vaultId: 'v1', credentials: 'key', retries: 0 })

/** Compiled, and never run. */
async function typedCalls() {
  const inserted = await session.insert('people', [{ fields: { name: 'Ann', age: 12n } }], { tokenization: true })
  expectTypeOf(inserted.records[0]?.tokens.name).toEqualTypeOf<string | undefined>()
  const plain = await session.getOne('people', 'id', { onLowered: 'throw', fields: ['age'] })
  expectTypeOf(plain.fields.age).toEqualTypeOf<number | string | null>()
  const shown = await session.getOne('people', 'id')
  // @ts-expect-error a column that does not exist
  await session.insertOne('people', { nam: 'x' })
  // @ts-expect-error a required column is missing
  await session.insertOne('people', { age: 1 })
  // @ts-expect-error a value of another type
  await session.insertOne('people', { name: 3 })
  // @ts-expect-error a table that does not exist
  await session.getOne('peopl', 'id')
  // @ts-expect-error what is shown in place of a value
  await session.updateOne('people', 'id', { name: shown.fields.name })
  // @ts-expect-error a column that holds no files
  await session.openFile('people', 'id', 'name')
  const { responses } = await session.batch([
    { insert: 'people', fields: { name: 'x' }, tokenization: true },
    { get: 'people', id: { response: 0 } },
  ])
  expectTypeOf(responses[0].value.id).toEqualTypeOf<string>()
  const { records } = await session.query<{ name: string }>('SELECT name FROM people WHERE age = $1', [3])
  expectTypeOf(records[0]?.fields.name).toEqualTypeOf<string | undefined>()
  for await (const page of session.pages('people', { limit: 5 }))
    expectTypeOf(page.records[0]?.id).toEqualTypeOf<string | undefined>()
  // @ts-expect-error an option that does not exist
  connectVault<typeof schema>({ url: 'x', vaultId: 'v1', credentials: 'key', tables: schema })
}

describe('a remote session', () => {
  it('has the type and the methods of the session, and throws the errors of the library', async () => {
    expect(typedCalls).toBeTypeOf('function')
    expectTypeOf(session).toEqualTypeOf<Session<Tables>>()
    expectTypeOf<RemoteSession<Tables>>().toEqualTypeOf<Session<Tables>>()
    expect(VaultError).toBe(VaultErrorOfLibrary)
    await expect(session.get('people')).rejects.toSatisfy((error) => VaultErrorOfLibrary.isGenuine(error))
  })

  it.each([
    [{ url: 'vault.acme.example' }, 'url'],
    [{ url: 'https://vault.acme.example?x=1' }, 'url'],
    [{ vaultId: '' }, 'vaultId'],
    [{ credentials: undefined }, 'credentials'],
    [{ timeoutMs: 0 }, 'timeoutMs'],
    [{ retries: -1 }, 'retries'],
  ])('is refused with %o', (wrong, option) => {
    const options = { url: 'https://vault.acme.example', vaultId: 'v1', credentials: 'key', ...wrong }
    expect(() => connectVault(options as never)).toThrow(`Option "${option}"`)
  })
})
