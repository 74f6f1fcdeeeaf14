/** The console as files over HTTP: where they are, their headers and their forms, and that nothing else is there. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { createHandler, type HandlerOptions } from '../../../src/http/index.ts'
import { ask } from '../../support/http/ask.ts'
import { MOUNTS } from '../../support/http/mounts.ts'
import { openRaw } from '../../support/http/raw-connection.ts'
import { type ServedVault, serveVault, testCredentials } from '../../support/http/serve-vault.ts'
import { openPeople } from '../../support/vaults/test-vault.ts'

/** The text of the design, byte for byte. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const SECURITY = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'permissions-policy': 'clipboard-read=(), camera=(), geolocation=(), microphone=()',
}

const PAGES = ['/console', '/console/', '/console/query', '/console/tables/people', '/console/tables/people/a%2Fb']

async function served(handler: Partial<HandlerOptions> = { console: true }): Promise<ServedVault> {
  const opened = await serveVault({ storage: memoryStorage(), handler })
  onTestFinished(() => opened.close())
  return opened
}

/** Returns the paths of the files that a page loads, as a browser resolves them. */
function filesOf(page: string, at: string): string[] {
  return [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, way = '']) => new URL(way, `http://host${at}`).pathname)
}

describe('the console', () => {
  it('is absent unless it is asked for', async () => {
    const { ask } = await served({})
    for (const path of PAGES) expect((await ask('GET', path)).status).toBe(404)
  })

  it.each([{ console: 'yes' }, { console: 1 }])('refuses the option %j', async (wrong) => {
    await expect(served(wrong as object)).rejects.toThrow('Option "console" must be true or false.')
  })

  it.each(PAGES)('has its page at %s, with the headers of a page, and every file that it names', async (path) => {
    const { ask } = await served()
    const page = await ask('GET', path, { credential: null })
    expect(page.status).toBe(200)
    expect(page.headers).toMatchObject({ ...SECURITY, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    expect(page.text).toContain('<meta name="strongroom-vault" content="v1">')
    const files = filesOf(page.text, path)
    expect(files.length).toBeGreaterThan(3)
    for (const file of files) {
      const found = await ask('GET', file, { credential: null })
      expect([file, found.status, found.headers['cache-control']]).toEqual([file, 200, 'public, max-age=31536000, immutable'])
      expect(found.headers).toMatchObject(SECURITY)
      expect(found.bytes.length).toBeGreaterThan(0)
    }
  })

  it('sends the shortest form that the client accepts', async () => {
    const { ask } = await served()
    const page = await ask('GET', '/console')
    const [script = ''] = filesOf(page.text, '/console').filter((file) => file.endsWith('.js'))
    const get = (accepted?: string) =>
      ask('GET', script, accepted === undefined ? {} : { headers: { 'accept-encoding': accepted } })
    const plain = await get()
    expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([undefined, 'accept-encoding, origin'])
    const cases = [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip, br;q=0', 'gzip'],
      ['GZIP;q=0.5', 'gzip'],
      ['br; q=0.000, gzip; q=0', undefined],
      ['brown', undefined],
    ] as const
    const open = { br: brotliDecompressSync, gzip: gunzipSync } as const
    for (const [accepted, coding] of cases) {
      const { headers, bytes } = await get(accepted)
      expect([accepted, headers['content-encoding']]).toEqual([accepted, coding])
      expect((coding === undefined ? bytes : open[coding](bytes)).equals(plain.bytes)).toBe(true)
      if (coding !== undefined) expect(bytes.length).toBeLessThan(plain.bytes.length / 2)
    }
  })

  it.each(['br', 'gzip'])('has at most 150 kB to the first paint, and as much to that of a table, as %s', async (coding) => {
    const { ask } = await served()
    const sizeOf = async (path: string): Promise<number> =>
      (await ask('GET', path, { headers: { 'accept-encoding': coding } })).bytes.length
    const files = filesOf((await ask('GET', '/console')).text, '/console')
    const [script = ''] = files.filter((file) => file.endsWith('.js'))
    const ofTables = [...new Set((await ask('GET', script)).text.match(/tables-page-[\w-]+\.(?:js|css)/g))]
    expect(ofTables.length).toBeGreaterThan(0)
    const all = ['/console', ...files, ...ofTables.map((name) => `/console/assets/${name}`)]
    const sizes = await Promise.all(all.map(async (file) => [file, await sizeOf(file)] as const))
    const total = sizes.reduce((sum, [, size]) => sum + size, 0)
    expect(total, JSON.stringify(sizes)).toBeLessThanOrEqual(150_000)
  })

  it('answers HEAD as GET without its body, and other methods as a path that does not exist', async () => {
    const { ask } = await served()
    const [got, head] = [await ask('GET', '/console'), await ask('HEAD', '/console')]
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, String(got.bytes.length), ''])
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      for (const path of ['/console', filesOf(got.text, '/console')[0] ?? ''])
        expect([method, path, (await ask(method, path)).status]).toEqual([method, path, 404])
  })

  it.each([
    '/console/assets/',
    '/console/assets/index.html',
    '/console/assets/../index.html',
    '/console/assets/..%2findex.html',
    '/console/assets/%2e%2e/%2e%2e/http.js',
    '/console/assets/..\\..\\http.js',
    '/console/assets//etc/passwd',
    '/console/assets/__proto__',
    '/consoles',
    '/%63onsole',
    '/v1/console',
    '//console',
  ])('has nothing at %s', async (path) => {
    const { port } = await served()
    const raw = await openRaw(port)
    raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    expect(await raw.untilEnd()).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('names no vault of a handler that has several, and escapes the id of one', async () => {
    const pageOf = async (vaults: HandlerOptions['vaults']): Promise<string> => {
      const handler = createHandler({ vaults, authenticate: testCredentials, console: true })
      return (await handler(new Request('http://host/console'))).text()
    }
    const [first, second] = await Promise.all(['v1', 'v2'].map((id) => openPeople(memoryStorage(), id)))
    if (first === undefined || second === undefined) throw new Error('No vaults.')
    expect(await pageOf([first, second])).not.toContain('strongroom-vault')
    expect(await pageOf(async () => first)).not.toContain('strongroom-vault')
    expect(await pageOf({ ...first, id: '"><script>&' })).toContain('content="&#34;&#62;&#60;script&#62;&#38;"')
    for (const vault of [first, second]) await vault.close()
  })

  it.each(MOUNTS.map((mount) => [mount.name, mount] as const))('finds its files under a path of %s', async (_name, mount) => {
    const vault = await openPeople(memoryStorage())
    const handler = createHandler({ vaults: vault, authenticate: testCredentials, console: true, baseUrl: '/vault' })
    const mounted = await mount.start(handler, '/vault')
    onTestFinished(async () => {
      await mounted.close()
      await vault.close()
    })
    for (const path of ['/vault/console', '/vault/console/tables/people']) {
      const page = await ask(mounted.port, ['GET', path])
      for (const file of filesOf(page.text, path)) expect((await ask(mounted.port, ['GET', file])).status).toBe(200)
    }
  })
})
