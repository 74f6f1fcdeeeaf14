/** The page operations in a real Chromium: an owner makes and revokes a key, rotates the keys of the vault and destroys the old one. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { CHROMIUM, type OpenedConsole, openConsole, signIn } from '../support/console/open-console.ts'

describe.skipIf(CHROMIUM === undefined)('the page operations', () => {
  let opened: OpenedConsole
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  it.each(['light', 'dark'] as const)('is accessible in %s, and silent', async (colorScheme) => {
    const { page, messages } = await opened.signedIn('owner', '/ops', { colorScheme })
    await page.getByText('All checks pass').waitFor()
    await page.getByRole('cell', { name: 'privacy desk', exact: true }).waitFor()
    await page.getByText('The stored schema is that of the application.').waitFor()
    await page.getByText('Audit chains').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    expect(messages).toEqual([])
  })

  it('makes a key that signs in, and revokes it with its name typed', async () => {
    const { page, requests } = await opened.signedIn('owner', '/ops')
    await page.getByRole('button', { name: 'New API key' }).click()
    await page.getByLabel('Name').fill('night export')
    await page.getByLabel('Roles, with commas between').fill('auditor')
    await page.keyboard.press('Enter')
    const apiKey = (await page.locator('.made-key').textContent()) ?? ''
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.locator('.made-key').count()).toBe(0)
    const other = await opened.tab()
    await signIn(other.page, apiKey)
    await page.getByRole('button', { name: 'Revoke night export' }).click()
    const revoke = page.getByRole('button', { name: 'Revoke', exact: true }).last()
    expect(await revoke.isDisabled()).toBe(true)
    await page.getByLabel('Type night export').fill('night export')
    await revoke.click()
    await page.getByRole('row', { name: /night export.*revoked/ }).waitFor()
    expect(requests.every((url) => !url.includes(apiKey))).toBe(true)
  })

  it('rotates the keys, and destroys the old one only when nothing is sealed with it', async () => {
    const { page } = await opened.signedIn('owner', '/ops')
    await page.getByRole('button', { name: 'Rotate keys' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate keys' }).click()
    const destroy = page.getByRole('button', { name: /^Destroy version 2$/ })
    await destroy.and(page.locator(':enabled')).waitFor()
    await destroy.click()
    await page.getByRole('textbox').last().fill('version 2')
    await page.getByRole('dialog').getByRole('button', { name: 'Destroy version 2' }).click()
    await page.getByRole('row', { name: /^2 destroyed/ }).waitFor()
    const { destroyed } = await opened.vault.keys()
    expect(destroyed.map(({ version }) => version)).toEqual([2])
  })

  it('is not offered to others', async () => {
    const { page } = await opened.signedIn('desk')
    expect(await page.getByRole('link', { name: 'Operations' }).count()).toBe(0)
  })
})
