// The real JavaScript clients of OpenFeature against a service: node openfeature.mjs <address> <key> <unit>
// Prints one line of JSON per step.
import { OpenFeature as Server } from '@openfeature/server-sdk';
import { OFREPProvider } from '@openfeature/ofrep-provider';
import { OpenFeature as Web } from '@openfeature/web-sdk';
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';

const [address, key, unit] = process.argv.slice(2);
const tell = (step, found) => console.log(JSON.stringify({ step, ...found }));

// a server evaluates one flag at a time
await Server.setProviderAndWait(new OFREPProvider({ baseUrl: address, headers: [['X-API-Key', key]] }));
const server = Server.getClient();
const visitor = { targetingKey: unit, plan: 'premium' };
const text = await server.getStringDetails('text', 'fallback', visitor);
tell('text', text);
tell('again', await server.getStringDetails('text', 'fallback', visitor));
tell('number', await server.getNumberDetails('number', -1, visitor));
tell('switch', await server.getBooleanDetails('switch', false, visitor));
tell('object', await server.getObjectDetails('object', {}, visitor));
tell('paused', await server.getStringDetails('paused', 'fallback', visitor));
tell('mismatch', await server.getBooleanDetails('text', true, visitor));
tell('unknown', await server.getStringDetails('unknown', 'fallback', visitor));
tell('nobody', await server.getStringDetails('text', 'fallback'));

await Server.setProviderAndWait(new OFREPProvider({ baseUrl: address, headers: [['Authorization', 'Bearer wrong']] }));
tell('wrong key', await Server.getClient().getStringDetails('text', 'fallback', visitor));

// a page evaluates all flags at once, when it starts, and asks later whether they have changed
const statuses = [];
const counted = async (...given) => {
  const response = await fetch(...given);
  statuses.push(response.status);
  return response;
};
await Web.setContext(visitor);
const provider = new OFREPWebProvider({
  baseUrl: address, headers: [['X-API-Key', key]], cacheMode: 'disabled', fetchImplementation: counted,
});
await Web.setProviderAndWait(provider);
tell('web text', Web.getClient().getStringDetails('text', 'fallback'));
tell('web bulk', Web.getClient().getStringDetails('bulk', 'fallback'));
tell('web only on servers', Web.getClient().getStringDetails('untouched', 'fallback'));
await Web.setContext({ ...visitor, plan: 'basic' });
tell('web again', { ...Web.getClient().getStringDetails('bulk', 'fallback'), statuses });

// the outcome: one call
const response = await fetch(`${address}/v1/experiments/${text.flagMetadata.experiment}/rewards`, {
  method: 'POST',
  headers: { 'X-API-Key': key },
  body: JSON.stringify({ unit, value: 1, event_id: `order-of-${unit}` }),
});
tell('reward', { status: response.status, ...(await response.json()) });
await Server.close();
await Web.close();
