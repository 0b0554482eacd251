"""A bare FastAPI endpoint: it parses the body of a tell and answers as the service would, but does nothing."""

from fastapi import FastAPI
from pydantic import BaseModel


class Told(BaseModel):
    ticket: str
    reward: float


class Tell(BaseModel):
    rewards: list[Told]


app = FastAPI()


@app.post("/tell")
async def tell(form: Tell) -> dict[str, int | bool | str]:
    told = len(form.rewards)
    return {"accepted": told, "counted": told, "late": 0, "decided": False, "stopped": False, "recommendation": "0"}
