/** The sign-in page in a real Chromium: every kind of credential, and those that the vault does not accept. */
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { apiKeys, createServiceAccount } from '../../src/http/index.ts'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import type { ConsoleVault } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsole, signIn } from '../support/console/open-console.ts'
import { serveVault, stop } from '../support/http/serve-vault.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const REFUSED = /^The vault does not accept this credential\./

describe.skipIf(CHROMIUM === undefined)('the sign-in page', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  /** Returns the text of a key file for a new service account. */
  async function keyFile(roles: readonly string[]): Promise<string> {
    const tokenURI = `${new URL('/', opened.url)}v1/auth/sa/oauth/token`
    return JSON.stringify(await createServiceAccount(opened.vault.as(OWNER), { name: 'robot', roles, tokenURI }))
  }

  it.each([
    ['light', 1320],
    ['dark', 1320],
    ['light', 390],
  ] as const)('is accessible in %s at %i pixels, silent, and asks this server only', async (colorScheme, width) => {
    const { page, messages, requests } = await opened.tab('', { colorScheme, viewport: { width, height: 800 } })
    await page.getByRole('heading', { name: 'acme' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    expect(messages).toEqual([])
    expect(requests.filter((url) => !url.startsWith(opened.url))).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  it('signs in with a key file, whose key signs in the tab, and says what is wrong with it', async () => {
    const { page, messages, requests, received } = await opened.tab('')
    await page.getByRole('button', { name: 'Key file' }).click()
    const upload = async (text: string): Promise<void> => {
      await page
        .getByLabel('Key file')
        .setInputFiles({ name: 'key.json', mimeType: 'application/json', buffer: Buffer.from(text) })
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await upload('{"clientID":"a"}')
    await page.getByText('This is no key file of a service account: keyID is missing.').waitFor()
    const text = await keyFile(['privacy_desk'])
    await upload(JSON.stringify({ ...JSON.parse(text), privateKey: 'none' }))
    await page.getByText('The private key of this key file cannot be read.').waitFor()
    await upload(text)
    await page.locator('.frame h1').waitFor()
    expect(await page.locator('.caller').textContent()).toContain('privacy_desk')
    expect(messages).toEqual([])
    const { privateKey } = JSON.parse(text)
    expect(requests.join() + (await received())).not.toContain(privateKey.slice(100, 140))
  })

  it('renews the bearer of a key file before it expires, once for calls of one time', async () => {
    const { page, requests } = await opened.tab('')
    onTestFinished(() => page.context().close())
    await page.clock.install()
    await page.reload()
    await page.getByRole('button', { name: 'Key file' }).click()
    const buffer = Buffer.from(await keyFile(['privacy_desk']))
    await page.getByLabel('Key file').setInputFiles({ name: 'key.json', mimeType: 'application/json', buffer })
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.frame h1').waitFor()
    const exchanges = (): number => requests.filter((url) => url.endsWith('/oauth/token')).length
    expect(exchanges()).toBe(1)
    await page.clock.fastForward(51 * 60_000)
    for (const table of ['orders', 'disputes']) await page.getByRole('link', { name: table }).click()
    await page.getByText('No records yet.').waitFor()
    expect(exchanges()).toBe(2)
  })

  it('signs in with a JWT', async () => {
    const { page } = await opened.tab('/tables/orders')
    const { bearer } = await opened.vault.credentials.issueBearer({ keyId: JSON.parse(await keyFile(['support'])).keyID })
    await page.getByRole('button', { name: 'JWT' }).click()
    await signIn(page, bearer, 'JWT')
    // Support has no table of this name.
    await page.getByText('No such table.').waitFor()
  })

  it('asks for the vault where there are several, and names none', async () => {
    const vaults = async (id: string) => (id === 'acme' ? opened.vault : undefined)
    const several = await serveVault({ vault: opened.vault, handler: { vaults, authenticate: apiKeys(), console: true } })
    onTestFinished(() => stop(several.server))
    const { page } = await opened.tab('')
    await page.goto(`http://127.0.0.1:${several.port}/console`)
    await page.getByRole('heading', { name: 'strongroom' }).waitFor()
    await page.getByLabel('API key').last().fill(opened.keys.support)
    expect(await page.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(true)
    await page.getByLabel('Vault').fill('other')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('alert').textContent()).toMatch(REFUSED)
    await page.getByLabel('Vault').fill('acme')
    await page.keyboard.press('Enter')
    await page.locator('.frame h1').waitFor()
  })

  it('says that the vault does not accept a wrong credential, and what it says is spoken', async () => {
    const { page } = await opened.tab()
    await page.getByLabel('API key').last().fill('sr_not-a-key')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('alert').textContent()).toMatch(REFUSED)
    await page.route('**/describeCaller', (route) => route.abort())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The server does not answer. Nothing was changed.').waitFor()
  })

  it('has the reason when the credential is refused later, and nothing of the session', async () => {
    const { page } = await opened.tab('/tables/customers')
    const { keyID: keyId } = JSON.parse(await keyFile(['privacy_desk']))
    const { bearer } = await opened.vault.credentials.issueBearer({ keyId })
    await page.getByRole('button', { name: 'JWT' }).click()
    await signIn(page, bearer, 'JWT')
    await opened.vault.as(OWNER).revokeCredential({ keyId })
    await page.getByRole('link', { name: 'orders' }).click()
    await page.getByText('The vault no longer accepts this credential.').waitFor()
    expect([await page.locator('.frame').count(), new URL(page.url()).pathname]).toEqual([0, '/console/'])
    await signIn(page, opened.keys.desk)
  })
})
