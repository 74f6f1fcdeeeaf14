/** Local key-encryption keys: the file, its permissions, concurrent creation, and wrapping. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/index.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import type { WrappedKey } from '../../../src/core/ports/crypto.ts'
import { runKeyCases, runVaultOnKeys } from '../../support/keys/run-key-cases.ts'

const SECRET = Buffer.alloc(32, 'test secret')
const CONTEXT = Buffer.from('vault v1, root 1')
const run = promisify(execFile)
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-keys-'))
})

afterAll(() => rm(folder, { recursive: true }))

/** The VaultError of a rejected promise. */
async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(() => undefined).catch((caught: unknown) => caught)
  if (!isVaultError(error)) throw new Error('expected a VaultError')
  return error
}

let files = 0

/** Key files that are disabled by their mode, withdrawn by other content, and rotated to another file. */
function fileKeys() {
  const newFile = () => join(folder, `local-${++files}.key`)
  let file = newFile()
  let olderFiles: string[] = []
  const now = () => localKeys({ file, olderFiles })
  const reopen = async () => ({
    currentKeyId: async () => now().currentKeyId?.() ?? '',
    wrap: async (key: Uint8Array, data: Uint8Array) => now().wrap(key, data),
    unwrap: async (wrapped: WrappedKey, data: Uint8Array) => now().unwrap(wrapped, data),
  })
  return {
    open: reopen,
    reopen,
    async rotate() {
      olderFiles = [file, ...olderFiles]
      file = newFile()
    },
    disable: () => chmod(file, 0o644),
    enable: () => chmod(file, 0o600),
    withdraw: () => writeFile(file, 'no key'),
    async disableOlder() {
      for (const older of olderFiles.splice(0)) await rm(older)
    },
  }
}

runKeyCases('local', fileKeys)
runVaultOnKeys('a key file', fileKeys)

it('the first wrap creates the file with mode 0600, and another provider unwraps with it', async () => {
  const file = join(folder, 'deep', 'er', 'first.key')
  const wrapped = await localKeys({ file }).wrap(SECRET, CONTEXT)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, 'latin1')).toMatch(/^strongroom key, version 1\n[A-Za-z0-9+/]{43}=\n$/)
  expect(wrapped.keyId).toMatch(/^[0-9a-f]{16}$/)
  expect(wrapped.bytes.length).toBe(24 + 32 + 16)
  expect(Buffer.from(wrapped.bytes).includes(SECRET)).toBe(false)
  expect(Buffer.from(await localKeys({ file }).unwrap(wrapped, CONTEXT)).equals(SECRET)).toBe(true)
})

it('wrapping twice gives different bytes under the same key id', async () => {
  const keys = localKeys({ key: SECRET.toString('base64') })
  const [one, two] = await Promise.all([keys.wrap(SECRET, CONTEXT), keys.wrap(SECRET, CONTEXT)])
  expect(one.keyId).toBe(two.keyId)
  expect(Buffer.from(one.bytes).equals(two.bytes)).toBe(false)
})

it('creating a provider or failing to unwrap creates no file', async () => {
  const file = join(folder, 'never.key')
  const failure = await failureOf(localKeys({ file }).unwrap({ keyId: '0'.repeat(16), bytes: new Uint8Array(72) }, CONTEXT))
  expect(failure.code).toBe('failed_precondition')
  expect(failure.message).toContain('Cannot unwrap the root key')
  expect(failure.message).toContain(file)
  await expect(stat(file)).rejects.toThrow()
})

it('providers that create the file at once use one key and leave no draft', async () => {
  const file = join(folder, 'race', 'shared.key')
  const wrapped = await Promise.all(Array.from({ length: 20 }, () => localKeys({ file }).wrap(SECRET, CONTEXT)))
  expect(new Set(wrapped.map(({ keyId }) => keyId)).size).toBe(1)
  for (const one of wrapped) expect(Buffer.from(await localKeys({ file }).unwrap(one, CONTEXT)).equals(SECRET)).toBe(true)
  expect(await readdir(join(folder, 'race'))).toEqual(['shared.key'])
})

it('processes that create the file at once use one key', async () => {
  const file = join(folder, 'processes.key')
  const module = new URL('../../../src/adapters/keys/index.ts', import.meta.url).href
  const script = `import { localKeys } from ${JSON.stringify(module)}
    const { keyId } = await localKeys({ file: process.argv[1] }).wrap(new Uint8Array(32), new Uint8Array(1))
    console.log(keyId)`
  const runs = await Promise.all(
    Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '-e', script, file])),
  )
  const ids = runs.map(({ stdout }) => stdout.trim())
  expect(ids[0]).toMatch(/^[0-9a-f]{16}$/)
  expect(new Set(ids).size).toBe(1)
})

it.skipIf(process.platform === 'win32')(
  'a file that other users can read is rejected, with the command that fixes it',
  async () => {
    const file = join(folder, 'open.key')
    await localKeys({ file }).wrap(SECRET, CONTEXT)
    for (const mode of [0o640, 0o604, 0o620, 0o601]) {
      await chmod(file, mode)
      const failure = await failureOf(localKeys({ file }).wrap(SECRET, CONTEXT))
      expect(failure.code).toBe('failed_precondition')
      expect(failure.message).toContain('chmod 600')
    }
    await chmod(file, 0o400)
    expect((await localKeys({ file }).wrap(SECRET, CONTEXT)).keyId).toMatch(/^[0-9a-f]{16}$/)
  },
)

it('a truncated or invalid key file is rejected and never replaced', async () => {
  const file = join(folder, 'damaged.key')
  const good = `strongroom key, version 1\n${SECRET.toString('base64')}\n`
  for (const text of ['', 'hello\n', good.slice(0, 40), good.replace('1\n', '2\n'), `${good.slice(0, 60)}!`, 'x'.repeat(5000)]) {
    await writeFile(file, text, { mode: 0o600 })
    const failure = await failureOf(localKeys({ file }).wrap(SECRET, CONTEXT))
    expect(failure.code).toBe('failed_precondition')
    expect(failure.message).not.toContain(SECRET.toString('base64').slice(0, 8))
    expect(await readFile(file, 'utf8')).toBe(text)
  }
  await writeFile(file, good.replaceAll('\n', '\r\n'), { mode: 0o600 })
  expect((await localKeys({ file }).wrap(SECRET, CONTEXT)).bytes.length).toBe(72)
})

it('a path where no file can be created gives an error that names it', async () => {
  const blocker = join(folder, 'blocker')
  await writeFile(blocker, '')
  const failure = await failureOf(localKeys({ file: join(blocker, 'x.key') }).wrap(SECRET, CONTEXT))
  expect(failure.code).toBe('failed_precondition')
  expect(failure.message).toContain(blocker)
})

it('another key, a changed byte or other associated data does not unwrap', async () => {
  const mine = localKeys({ key: SECRET.toString('base64') })
  const other = localKeys({ key: Buffer.alloc(32, 'another secret').toString('base64') })
  const wrapped = await mine.wrap(SECRET, CONTEXT)
  const attempts = [
    other.unwrap(wrapped, CONTEXT),
    other.unwrap({ ...wrapped, keyId: (await other.wrap(SECRET, CONTEXT)).keyId }, CONTEXT),
    mine.unwrap(wrapped, Buffer.from('vault v2')),
    mine.unwrap({ ...wrapped, bytes: wrapped.bytes.subarray(1) }, CONTEXT),
    mine.unwrap({ ...wrapped, bytes: new Uint8Array(39) }, CONTEXT),
    mine.unwrap({ ...wrapped, bytes: wrapped.bytes.map((byte, i) => (i === 30 ? byte ^ 1 : byte)) }, CONTEXT),
  ]
  for (const attempt of attempts) {
    const failure = await failureOf(attempt)
    expect(failure.code).toBe('failed_precondition')
    expect(failure.message).toContain('Cannot unwrap the root key')
    expect(failure.message).toContain('another key')
  }
  expect(Buffer.from(await mine.unwrap(wrapped, CONTEXT)).equals(SECRET)).toBe(true)
})

it('a key that is not 32 bytes in base64 is rejected at once and not quoted', () => {
  const wrong = [
    '',
    'hunter2',
    SECRET.toString('hex'),
    SECRET.subarray(1).toString('base64'),
    `${SECRET.toString('base64').slice(0, 42)}d=`,
  ]
  for (const key of wrong) {
    try {
      localKeys({ key })
      expect.unreachable()
    } catch (error) {
      expect(isVaultError(error, 'invalid_request')).toBe(true)
      if (key !== '') expect(String(error)).not.toContain(key)
    }
  }
  expect(() => localKeys({ file: '' })).toThrow(/file/)
})

it('white space around the key, as in environment files, is ignored', async () => {
  const wrapped = await localKeys({ key: ` ${SECRET.toString('base64')}\n` }).wrap(SECRET, CONTEXT)
  const opened = await localKeys({ key: SECRET.toString('base64') }).unwrap(wrapped, CONTEXT)
  expect(Buffer.from(opened).equals(SECRET)).toBe(true)
})

/** The text of a key file with this key. */
function fileText(key: Uint8Array): string {
  return `strongroom key, version 1\n${Buffer.from(key).toString('base64')}\n`
}

/** Keys that no random generator draws: zeros, one byte, a short pattern, and a key of 16 bytes twice. */
const REPEATED = [Buffer.alloc(32), Buffer.alloc(32, 0xff), Buffer.alloc(32, 'ab'), Buffer.alloc(32, '0123456789abcdef')]

it('a key that repeats itself is refused, as text and in a file, and is not quoted', async () => {
  const file = join(folder, 'repeated.key')
  for (const key of REPEATED) {
    const text = key.toString('base64')
    expect(() => localKeys({ key: text })).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    expect(() => localKeys({ key: text })).not.toThrow(text)
    await writeFile(file, fileText(key), { mode: 0o600 })
    const failure = await failureOf(localKeys({ file }).wrap(SECRET, CONTEXT))
    expect(failure.code).toBe('failed_precondition')
    expect(failure.message).toContain('repeats itself')
    expect(failure.message).not.toContain(text.slice(0, 10))
  }
  const almost = Buffer.alloc(32, 7)
  almost[31] = 8
  await writeFile(file, fileText(almost), { mode: 0o600 })
  expect((await localKeys({ file }).wrap(SECRET, CONTEXT)).keyId).toMatch(/^[0-9a-f]{16}$/)
})

it.skipIf(process.platform === 'win32')(
  'a FIFO, a device, a folder and links to them are refused at once, without waiting for a writer',
  async () => {
    const fifo = join(folder, 'fifo')
    await run('mkfifo', ['-m', '600', fifo])
    const targets = [fifo, '/dev/zero', '/dev/null', folder]
    const links = targets.map((_, i) => join(folder, `link-${i}`))
    for (const [i, target] of targets.entries()) await symlink(target, links[i] ?? '')
    for (const file of [...targets, ...links]) {
      const failure = await failureOf(localKeys({ file }).wrap(SECRET, CONTEXT))
      expect(failure.code).toBe('failed_precondition')
      expect(failure.message).toContain(`${file} is not a regular file`)
    }
  },
)

it.skipIf(process.platform === 'win32')('a link to a key file is followed', async () => {
  const file = join(folder, 'target.key')
  const wrapped = await localKeys({ file }).wrap(SECRET, CONTEXT)
  await symlink(file, join(folder, 'good-link'))
  expect(Buffer.from(await localKeys({ file: join(folder, 'good-link') }).unwrap(wrapped, CONTEXT)).equals(SECRET)).toBe(true)
})

// Only root can give a file to another user, and only root can read one with mode 600.
it.skipIf(process.getuid?.() !== 0)('a file of another user is refused, with the command that fixes it', async () => {
  const file = join(folder, 'foreign.key')
  await localKeys({ file }).wrap(SECRET, CONTEXT)
  await chown(file, 12_345, 0)
  const failure = await failureOf(localKeys({ file }).wrap(SECRET, CONTEXT))
  expect(failure.code).toBe('failed_precondition')
  expect(failure.message).toContain(`chown 0 ${file}`)
})

it('a key read from a file equals what Buffer reads, for random keys, and only one spelling of it is accepted', async () => {
  const file = join(folder, 'random.key')
  for (let round = 0; round < 50; round++) {
    const key = randomBytes(32)
    await writeFile(file, fileText(key), { mode: 0o600 })
    const wrapped = await localKeys({ file }).wrap(SECRET, CONTEXT)
    expect(Buffer.from(await localKeys({ key: key.toString('base64') }).unwrap(wrapped, CONTEXT)).equals(SECRET)).toBe(true)
  }
  const created = join(folder, 'created.key')
  await localKeys({ file: created }).wrap(SECRET, CONTEXT)
  const text = (await readFile(created, 'latin1')).split('\n')[1] ?? ''
  expect(Buffer.from(text, 'base64').toString('base64')).toBe(text)
})

it('a ring of files wraps with the first and unwraps with each, and a new first file is made only to wrap', async () => {
  const [file, older] = [join(folder, 'ring-new.key'), join(folder, 'ring-old.key')]
  const before = await localKeys({ file: older }).wrap(SECRET, CONTEXT)
  const ring = localKeys({ file, olderFiles: [older] })
  expect(Buffer.from(await ring.unwrap(before, CONTEXT)).equals(SECRET)).toBe(true)
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  const after = await ring.wrap(SECRET, CONTEXT)
  expect(after.keyId).not.toBe(before.keyId)
  expect(await ring.currentKeyId?.()).toBe(after.keyId)
  for (const wrapped of [before, after]) expect(Buffer.from(await ring.unwrap(wrapped, CONTEXT)).equals(SECRET)).toBe(true)
  await expect(localKeys({ file }).unwrap(before, CONTEXT)).rejects.toMatchObject({ code: 'failed_precondition' })
  await rm(older)
  const { message } = await failureOf(ring.unwrap(before, CONTEXT))
  expect(message).toBe(`Cannot unwrap the root key: key file ${older} does not exist. Restore it, or name the right one.`)
  await rm(file)
  expect((await failureOf(ring.unwrap(before, CONTEXT))).message).toContain(
    `key file ${file} does not exist, key file ${older} does not exist.`,
  )
})

it('a ring of texts unwraps with each, and refuses what is no list or of the other kind', async () => {
  const [key = '', older = ''] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64'))
  const before = await localKeys({ key: older }).wrap(SECRET, CONTEXT)
  const ring = localKeys({ key, olderKeys: [older] })
  expect(Buffer.from(await ring.unwrap(before, CONTEXT)).equals(SECRET)).toBe(true)
  const changed = { ...before, bytes: Uint8Array.from(before.bytes, (byte, index) => (index === 40 ? byte ^ 1 : byte)) }
  expect((await failureOf(ring.unwrap(changed, CONTEXT))).message).toContain('its wrapped bytes were changed')
  const { message } = await failureOf(localKeys({ key }).unwrap(before, CONTEXT))
  expect(message).toContain('it was wrapped by another key than the given one')
  for (const options of [
    { key, olderKeys: older },
    { key, olderFiles: ['x'] },
    { key, olderKeys: ['short'] },
  ])
    expect(() => localKeys(options as never)).toThrow(/localKeys: /)
})
