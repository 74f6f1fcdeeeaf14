/** Serves the console: its files are beside the file that serves them, for either module system. */
import assert from 'node:assert/strict'
import { createHandler } from 'strongroom/http'

async function serveConsole() {
  const handler = createHandler({ vaults: { id: 'v1', as() {} }, authenticate: async () => undefined, console: true })
  const page = await handler(new Request('http://host/console'))
  assert.equal(page.status, 200)
  const files = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, way]) => new URL(way, page.url || 'http://host/console'),
  )
  assert.ok(files.length > 3)
  for (const url of files) {
    const file = await handler(new Request(url, { headers: { 'accept-encoding': 'br' } }))
    assert.equal(file.status, 200, url.href)
    assert.equal(file.headers.get('content-encoding'), url.pathname.endsWith('.woff2') ? null : 'br', url.href)
  }
}

serveConsole().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
