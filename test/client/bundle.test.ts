/** The client as a page of a browser loads it: one file without any module of Node, about 5 kB compressed, and it runs with fetch alone. */

import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const ENTRY = join(import.meta.dirname, '../../src/client/index.ts')

async function bundle(format: 'esm' | 'iife', entry = ENTRY) {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    platform: 'browser',
    target: 'es2022',
    format,
    globalName: 'client',
    logLevel: 'silent',
  })
  const [file] = outputFiles
  if (file === undefined) throw new Error('esbuild made no file')
  return { text: file.text, inputs: Object.keys(metafile.inputs) }
}

it('has about 5 kB compressed, and nothing of the vault but its errors', async () => {
  const { text, inputs } = await bundle('esm')
  expect(inputs.map((path) => path.replace(/^.*src\//, '')).filter((path) => !path.startsWith('client/'))).toEqual([
    'core/limits.ts',
    'core/errors.ts',
  ])
  expect(gzipSync(text, { level: 9 }).length).toBeLessThan(5250)
  expect(text).not.toMatch(/node:|process\.|\bBuffer|require\(/)
})

it('is not made of the library, which does not bundle: the test would find a value that is imported', async () => {
  await expect(bundle('esm', join(import.meta.dirname, '../../src/index.ts'))).rejects.toThrow(/node:/)
})

it('runs with what a page has', async () => {
  const { text } = await bundle('iife')
  const sent: [string, RequestInit][] = []
  const page = {
    AbortController,
    Blob,
    Headers,
    ReadableStream,
    URLSearchParams,
    URL,
    crypto,
    setTimeout,
    clearTimeout,
    async fetch(url: string, init: RequestInit) {
      sent.push([url, init])
      return new Response(JSON.stringify({ records: [{ id: '1' }] }))
    },
  }
  const script = `${text}; client.connectVault({ url: 'https://vault.acme.example/', vaultId: 'v 1', credentials: 'key' }).insertOne('people', { big: 1n })`
  expect(await runInNewContext(script, page)).toEqual({ id: '1' })
  const [[url, { headers, body } = {}] = []] = sent
  expect(url).toBe('https://vault.acme.example/v3/vaults/v%201/insert')
  expect(body).toBe('{"table":"people","records":[{"fields":{"big":"1"}}],"options":{}}')
  expect(headers).toMatchObject({ authorization: 'Bearer key', 'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/) })
})
