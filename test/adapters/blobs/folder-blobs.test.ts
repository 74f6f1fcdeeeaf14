/** Blobs in a folder: the conformance suite, and what is special to files. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { folderBlobs } from '../../../src/adapters/blobs/index.ts'
import { keyOf, put, read, sampleBytes } from '../../../src/conformance/blobs/sample.ts'
import { folderUnderTest, storedInFolder } from '../../support/blobs/folder-under-test.ts'
import { runBlobCases } from '../../support/blobs/run-blob-cases.ts'
import { openDescriptors } from '../../support/trials/open-descriptors.ts'

const top = mkdtempSync(join(tmpdir(), 'strongroom-blobs-'))
afterAll(() => rmSync(top, { recursive: true, force: true }))
let folders = 0
const nextFolder = () => join(top, `place-${++folders}`, 'blobs')

runBlobCases('folder', () => folderUnderTest(nextFolder))

/** Names of the open files of this process, in a folder. */
function openFilesIn(directory: string): readonly string[] {
  return openDescriptors().filter((target) => target.startsWith(directory))
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('blobs in a folder', () => {
  it('are files of 256 folders, for the account of the process only', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    await put(store, keyOf(1), sampleBytes(10))
    const folder = join(directory, keyOf(1).slice(0, 2))
    expect(readdirSync(directory, { recursive: true }).length).toBe(2)
    expect([directory, folder, join(folder, keyOf(1))].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700, 0o600])
  })

  it('leave no file open, however a call ends', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    await put(store, keyOf(1), sampleBytes(2_000_000))
    for (let round = 0; round < 20; round++) {
      await read(store, keyOf(1))
      for await (const _ of store.read(keyOf(1), { start: 0, end: 2_000_000 })) break
      await errorOf(read(store, keyOf(2)))
      // biome-ignore lint/correctness/useYield: content that throws at once.
      const throwing = async function* (): AsyncGenerator<Uint8Array> {
        throw new Error('thrown on purpose')
      }
      await errorOf(store.write(keyOf(3), throwing()))
      await put(store, keyOf(4 + round), sampleBytes(10))
      await store.delete([keyOf(4 + round)])
    }
    expect(openFilesIn(directory)).toEqual([])
  })

  it('close the file of a read that was never finished', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    await put(store, keyOf(1), sampleBytes(2_000_000))
    await store.read(keyOf(1), { start: 0, end: 2_000_000 })[Symbol.asyncIterator]().next()
    expect(openFilesIn(directory).length).toBe(1)
    await store.close()
    expect(openFilesIn(directory)).toEqual([])
  })

  it('are never read through a symbolic link', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    await put(store, keyOf(1), sampleBytes(10))
    const secret = join(top, 'other-file')
    writeFileSync(secret, 'another file')
    const link = join(directory, keyOf(1).slice(0, 2), `${keyOf(1).slice(0, 31)}f`)
    symlinkSync(secret, link)
    expect(await errorOf(read(store, `${keyOf(1).slice(0, 31)}f`))).toMatchObject({ code: 'internal' })
    await store.delete([`${keyOf(1).slice(0, 31)}f`])
    expect([existsSync(link), existsSync(secret)]).toEqual([false, true])
  })

  it('are never written through a symbolic link', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    const target = join(top, 'target')
    mkdirSync(join(directory, keyOf(1).slice(0, 2)), { recursive: true })
    symlinkSync(target, join(directory, keyOf(1).slice(0, 2), `${keyOf(1)}.unfinished`))
    expect(await errorOf(put(store, keyOf(1), sampleBytes(10)))).toMatchObject({ code: 'internal' })
    expect(existsSync(target)).toBe(false)
    await store.delete([keyOf(1)])
    await put(store, keyOf(1), sampleBytes(10))
    expect(lstatSync(join(directory, keyOf(1).slice(0, 2), keyOf(1))).isFile()).toBe(true)
  })

  it('are not taken from a folder or a pipe of their name', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    const folder = join(directory, keyOf(1).slice(0, 2))
    mkdirSync(join(folder, keyOf(1)), { recursive: true })
    expect(await errorOf(read(store, keyOf(1)))).toMatchObject({ code: 'internal' })
    const pipe = `${keyOf(1).slice(0, 31)}f`
    execFileSync('mkfifo', [join(folder, pipe)])
    expect(await errorOf(read(store, pipe))).toMatchObject({ code: 'internal' })
  })

  it('survive a second write of their key, which fails while one is unfinished', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const first = store.write(
      keyOf(1),
      (async function* () {
        yield sampleBytes(600_000)
        await released
      })(),
    )
    while (((await storedInFolder(directory, keyOf(1))) ?? 0) === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(await errorOf(put(store, keyOf(1), sampleBytes(5)))).toMatchObject({ code: 'internal' })
    release()
    await first
    expect((await read(store, keyOf(1))).length).toBe(600_000)
  })

  it.skipIf(process.getuid?.() === 0)('are unavailable in a folder that refuses the process', async () => {
    const directory = nextFolder()
    mkdirSync(directory, { recursive: true })
    chmodSync(directory, 0o500)
    const error = await errorOf(put(folderBlobs({ directory }), keyOf(1), sampleBytes(10)))
    expect(error).toMatchObject({ code: 'unavailable' })
    expect(String(error)).not.toContain(directory)
  })

  it('fail with internal, and without a path, where the directory is a file', async () => {
    const directory = join(top, 'a-file')
    writeFileSync(directory, '')
    const error = await errorOf(put(folderBlobs({ directory }), keyOf(1), sampleBytes(10)))
    expect(error).toMatchObject({ code: 'internal' })
    expect(`${String(error)} ${String(error instanceof Error ? error.cause : '')}`).not.toContain(directory)
  })

  it.skipIf(!existsSync('/dev/full'))('are storage_full on a full disk', async () => {
    const directory = nextFolder()
    const store = folderBlobs({ directory })
    // A file that grows beyond the limit of the process fails as one on a full disk does.
    const script = `
      import { folderBlobs } from ${JSON.stringify(join(import.meta.dirname, '../../../src/adapters/blobs/index.ts'))}
      process.on('SIGXFSZ', () => {})
      const store = folderBlobs({ directory: ${JSON.stringify(directory)} })
      async function* content() { for (let at = 0; at < 64; at++) yield new Uint8Array(1 << 20) }
      await store.write(${JSON.stringify(keyOf(1))}, content()).catch((error) => console.log(error.code, error.message))`
    writeFileSync(join(top, 'fill.mjs'), script)
    const output = execFileSync('bash', ['-c', `ulimit -f 8192; exec ${process.execPath} ${join(top, 'fill.mjs')}`], {
      encoding: 'utf8',
    })
    expect(output).toMatch(/^storage_full /)
    expect(await storedInFolder(directory, keyOf(1))).toBeUndefined()
    await store.close()
  })
})
